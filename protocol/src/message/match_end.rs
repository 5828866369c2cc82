//! Announces the end of a match.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::record::{EndReason, Outcome};
use crate::serde_helpers::{numbers, or_default};

/// `match_end`: a match has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEnd {
    /// Sequence number of the message within the match for this viewer.
    pub seq: u64,
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the viewer; absent for spectators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Return of each seat.
    #[serde(serialize_with = "numbers")]
    pub returns: Vec<f64>,
    /// Outcome of each seat.
    pub outcome: Vec<Outcome>,
    /// Reason of the end.
    pub reason: EndReason,
    /// Seat at fault, if a seat caused the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<u32>,
    /// True if the match counts for ratings.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// Final value of the digest chain in hex; disclosed once all matches with the same seed have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Seed in decimal; disclosed once all matches with the same seed have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// Salt of `seed_commit` in hex; disclosed together with the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// HTTP path of the episode record.
    pub record: String,
}

impl Message for MatchEnd {
    const TYPE: &'static str = "match_end";
}

impl ServerBody for MatchEnd {}
