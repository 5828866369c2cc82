//! A match begins.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::record::{AgentKind, Clock, IllegalMoveRules};
use crate::serde_helpers::or_default;
use crate::spec::Params;

/// Who sits on a seat of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatInfo {
    /// The agent's name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it is.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: AgentKind,
}

/// `match_start`: the whole public record of a match that begins. Its `seq` is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchStart {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The join that led to it; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Game id.
    pub game: String,
    /// Complete parameters.
    pub params: Params,
    /// Rules version.
    pub rules: u32,
    /// The spec's hash.
    pub hash: String,
    /// The viewer's seat; absent for a spectator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Who sits where.
    pub seats: Vec<SeatInfo>,
    /// Whether the match counts.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// The clock of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub clock: Clock,
    /// How illegal moves are treated.
    #[serde(default, deserialize_with = "or_default")]
    pub illegal: IllegalMoveRules,
    /// Whether forced moves are played without asking.
    #[serde(default, deserialize_with = "or_default")]
    pub skip_forced: bool,
    /// Hex SHA-256 over the salt's bytes and the seed's decimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_commit: Option<String>,
}

impl Message for MatchStart {
    const TYPE: &'static str = "match_start";
}

impl FromServer for MatchStart {}
