//! Language model calls, as stored in run files.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::Tokens;

/// A language model call, as stored in the journal of a run. Missing fields have defaults, so that calls written by
/// other versions can be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// Purpose: `move`, `sample`, `thought`, `vote`, `draft`, `critique`, `refine`, `emotion` or `probe`.
    pub purpose: String,
    /// Name of the model.
    pub model: String,
    /// Messages of the prompt.
    pub messages: Vec<ChatMessage>,
    /// Reply text; JSON text if the model called a tool.
    pub answer: String,
    /// Reasoning text, as reported by the endpoint or found in the `<think>` tags of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Output tokens used for reasoning; absent if the endpoint does not report the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Input tokens read from the endpoint's cache; absent if the endpoint does not report the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Input tokens written to the endpoint's cache; absent if the endpoint does not report the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_written_tokens: Option<u64>,
    /// Finish reason of the reply: `stop`, `length`, `content_filter` or an endpoint-specific value.
    pub finish: Option<String>,
    /// Input and output tokens as counted by the endpoint.
    pub tokens: Tokens,
    /// True if the endpoint reported no token counts; `tokens` is then estimated as a quarter of the characters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Duration of the successful call in milliseconds.
    pub ms: u64,
    /// Number of failed attempts before the successful call.
    pub retries: u64,
    /// Cost in US dollars; absent if no price is known.
    pub usd: Option<f64>,
    /// Verdict on the reply: `ok`, `unparsed`, `illegal`, `empty`, `refused` or `truncated`.
    pub verdict: String,
    /// Parsed move, chosen candidate or emotion letter.
    pub read: Option<String>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Call {
    /// Returns the text of all messages of one role, separated by blank lines.
    pub fn messages_of(&self, role: ChatRole) -> String {
        let of_role = self.messages.iter().filter(|m| m.role == role);
        of_role.map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChatRole {
    /// Instructions for the model.
    System,
    /// Messages of the program.
    User,
    /// Replies of the model.
    Assistant,
}

impl fmt::Display for ChatRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChatRole::System => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        })
    }
}

/// Message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatMessage {
    /// Author of the message.
    pub role: ChatRole,
    /// Text of the message.
    pub content: String,
}

impl ChatMessage {
    /// Creates a message.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        ChatMessage { role, content: content.into() }
    }
}
