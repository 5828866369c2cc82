//! Plays a move in a match.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::{ErrorCode, Refusal};
use crate::limits::Limits;
use crate::moves::Move;
use crate::record::Notes;
use crate::serde_helpers::{is_default, or_default};

/// `act`: plays a move in a match. Exactly one of `action`, `text`, `document` and `answer` must be present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Act {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the client; may be absent while the session holds one seat of the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Value of `turn` in the server's `turn` message.
    pub turn: u32,
    /// Number of earlier refusals in this turn, from 0.
    #[serde(rename = "try", default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// Move as an action id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<i64>,
    /// Move as text, in the game's notation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Move as a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Answer of a language model as it wrote it, from which the server reads the move. The record has it as `notes.answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Notes of the agent that accompany the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Notes>,
}

impl Act {
    /// Returns true if exactly one of `action`, `text`, `document` and `answer` is present. The decoder refuses other
    /// messages.
    pub fn is_whole(&self) -> bool {
        let given = [self.action.is_some(), self.text.is_some(), self.document.is_some(), self.answer.is_some()];
        given.into_iter().filter(|&is| is).count() == 1
    }

    /// Returns the move, if there is exactly one and it is not an answer.
    pub fn as_move(&self) -> Option<Move> {
        match (self.action, &self.text, &self.document) {
            (Some(id), None, None) => Some(Move::Id(id)),
            (None, Some(text), None) => Some(Move::Text(text.clone())),
            (None, None, Some(document)) => Some(Move::Document(document.clone())),
            _ => None,
        }
    }
}

impl Message for Act {
    const TYPE: &'static str = "act";
    const REPLIES: &'static [&'static str] = &["accepted", "refused"];
    const READ_OFTEN: bool = true;
}

impl ClientBody for Act {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Play)
    }

    fn complete(&self) -> Result<(), Refusal> {
        match self.is_whole() {
            true => Ok(()),
            false => {
                let text = "expected exactly one of `action`, `text`, `document` and `answer`";
                Err(Refusal::new(ErrorCode::BadField, text).path("action"))
            }
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        if let Some(text) = &self.text {
            limits.text("text", text)?;
        }
        if let Some(answer) = &self.answer {
            limits.text("answer", answer)?;
        }
        if let Some(document) = &self.document {
            limits.document("document", document)?;
        }
        self.notes.as_ref().map_or(Ok(()), |notes| limits.notes("notes", notes))
    }
}
