//! Answers of language models, as the server reads them; a part of `batch`, `viewed` and `refused`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Issue;

/// Verdict on an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A move that is legal now.
    Ok,
    /// A move of the game that is not legal now.
    Illegal,
    /// Text without a move.
    #[default]
    Unparsed,
    /// An answer without text.
    Empty,
}

/// An answer of a language model, as read by the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadAnswer {
    /// Verdict on the answer.
    pub verdict: Verdict,
    /// Id of the move; absent unless the verdict is `ok` and the move has an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The move as a document; absent unless the verdict is `ok` and the move is a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Text of the move, if the verdict is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Words for the model after a refused answer, as its next prompt contains them; absent if the verdict is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Flaws of a refused document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
}
