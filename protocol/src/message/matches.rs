//! Reply to `list_matches`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use super::match_start::SeatInfo;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `matches`: reply to `list_matches`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matches {
    /// Matches that meet the conditions of the request, newest first.
    pub matches: Vec<MatchEntry>,
}

/// An entry of the list of matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEntry {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Canonical game string of the match.
    pub game: String,
    /// Agents in seat order.
    pub seats: Vec<SeatInfo>,
    /// True if the match counts for ratings.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// Start time on the server's monotonic clock, in milliseconds.
    pub started_ms: u64,
}

impl Message for Matches {
    const TYPE: &'static str = "matches";
}

impl ServerBody for Matches {}
