//! Calls of language models, as run files store them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::Tokens;

/// Call as stored in the journal and read from a run. Missing fields have defaults, so that calls of other versions are
/// readable.
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
    /// Reasoning before the answer, as reported by the endpoint or from `<think>` in the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Output tokens used for reasoning, if the endpoint counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Input tokens read from the endpoint's cache, if it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Input tokens written to the endpoint's cache, if it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_written_tokens: Option<u64>,
    /// Reason for the end of the reply: `stop`, `length`, `content_filter` or an endpoint-specific value.
    pub finish: Option<String>,
    /// Input and output tokens as counted by the endpoint.
    pub tokens: Tokens,
    /// True if the tokens are estimated as a quarter of the characters, because the endpoint did not count them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Duration of the successful call in milliseconds.
    pub ms: u64,
    /// Number of failed calls before it.
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
    /// Joins all messages of one role, separated by blank lines.
    pub fn messages_of(&self, role: ChatRole) -> String {
        let of_role = self.messages.iter().filter(|m| m.role == role);
        of_role.map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChatRole {
    /// Instructions for the model.
    System,
    /// Text of the program.
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
