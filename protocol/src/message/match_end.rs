//! A match is over.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::record::{EndReason, Outcome};
use crate::serde_helpers::{numbers, or_default};

/// `match_end`: a match is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEnd {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Return of each seat.
    #[serde(serialize_with = "numbers")]
    pub returns: Vec<f64>,
    /// How each seat came out.
    pub outcome: Vec<Outcome>,
    /// Why it ended.
    pub reason: EndReason,
    /// Which seat is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_fault: Option<u32>,
    /// Whether the match counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// The digest chain's end, hex; once every match of the seed is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The seed, decimal; once every match of the seed is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The salt of `seed_commit`, hex; with the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Path of the episode over HTTP.
    pub record: String,
}

impl Message for MatchEnd {
    const TYPE: &'static str = "match_end";
}

impl FromServer for MatchEnd {}
