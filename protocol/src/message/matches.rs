//! Answers `list_matches`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use super::match_start::SeatInfo;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `matches`: answers `list_matches`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matches {
    /// The matches, newest first.
    pub matches: Vec<MatchEntry>,
}

/// A match of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEntry {
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The canonical game string.
    pub game: String,
    /// Who sits where.
    pub seats: Vec<SeatInfo>,
    /// Whether it counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// When it began, on the server's monotonic clock.
    pub started_ms: u64,
}

impl Message for Matches {
    const TYPE: &'static str = "matches";
}

impl FromServer for Matches {}
