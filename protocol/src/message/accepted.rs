//! Answers an `act` that was played.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `accepted`: the act was played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The turn that was answered.
    pub turn: u32,
    /// The action's id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// The move as text.
    pub text: String,
    /// The seat's bank.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: u64,
}

impl Message for Accepted {
    const TYPE: &'static str = "accepted";
    const WRITTEN_OFTEN: bool = true;
}

impl FromServer for Accepted {}
