//! Reply to an `act` that was played.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `accepted`: reply to an `act` whose move was played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accepted {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat that played the move.
    pub seat: u32,
    /// Turn of the accepted move.
    pub turn: u32,
    /// Id of the action, if the move has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<u32>,
    /// Text of the move.
    pub text: String,
    /// Remaining time in the seat's bank, in milliseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub bank_ms: u64,
}

impl Message for Accepted {
    const TYPE: &'static str = "accepted";
    const WRITTEN_OFTEN: bool = true;
}

impl ServerBody for Accepted {}
