//! Reply to an `act` that was refused.

use serde::{Deserialize, Serialize};

use super::{ReadAnswer, ServerBody};
use crate::envelope::Message;
use crate::error::{ErrorCode, Issue};
use crate::legal::Legal;
use crate::record::IllegalPolicy;

/// `refused`: the move is illegal or unparsable; the state is unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActRefused {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the refused move.
    pub seat: u32,
    /// Turn of the refused move.
    pub turn: u32,
    /// Value of `try` for the next attempt.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// Reason of the refusal, for programs.
    pub code: ErrorCode,
    /// Reason of the refusal, for people.
    pub message: String,
    /// Number of remaining attempts; at 0, `applied_policy` was applied.
    pub tries_left: u32,
    /// Legal actions of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal: Option<Legal>,
    /// Refused answer of a language model as read, if the act had an `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ReadAnswer>,
    /// Issues found in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<Issue>>,
    /// Policy that was applied after the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_policy: Option<IllegalPolicy>,
}

impl Message for ActRefused {
    const TYPE: &'static str = "refused";
}

impl ServerBody for ActRefused {}
