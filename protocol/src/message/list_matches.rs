//! Requests the list of matches.

use serde::{Deserialize, Deserializer, Serialize};

use super::ClientBody;
use crate::envelope::Message;
use crate::serde_helpers::{is_yes, or_else, or_yes, yes};

fn fifty() -> u32 {
    50
}

fn or_fifty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    or_else(deserializer, fifty)
}

fn is_fifty(limit: &u32) -> bool {
    *limit == 50
}

/// `list_matches`: requests the list of matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListMatches {
    /// Game id to which the list is restricted; absent: all games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub game: Option<String>,
    /// True for running matches, false for finished matches.
    #[serde(default = "yes", deserialize_with = "or_yes", skip_serializing_if = "is_yes")]
    pub live: bool,
    /// Maximum number of matches to return.
    #[serde(default = "fifty", deserialize_with = "or_fifty", skip_serializing_if = "is_fifty")]
    pub limit: u32,
}

impl Default for ListMatches {
    fn default() -> Self {
        ListMatches { game: None, live: true, limit: 50 }
    }
}

impl Message for ListMatches {
    const TYPE: &'static str = "list_matches";
    const REPLIES: &'static [&'static str] = &["matches"];
}

impl ClientBody for ListMatches {}
