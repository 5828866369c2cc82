//! Announces the start of a match.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::record::{AgentKind, Clock, IllegalMoveRules};
use crate::serde_helpers::or_default;
use crate::spec::Params;

/// The agent on a seat of a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeatInfo {
    /// Name of the agent.
    pub name: String,
    /// Version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind of the agent.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: AgentKind,
}

/// `match_start`: the public settings of a match that starts. Has `seq` 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchStart {
    /// Sequence number of the message within the match for this viewer.
    pub seq: u64,
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Id of the client's join for this match; absent for spectators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Id of the game.
    pub game: String,
    /// Complete parameters, including defaults.
    pub params: Params,
    /// Version of the rules.
    pub rules: u32,
    /// Rules hash from the game's spec.
    pub hash: String,
    /// Seat of the viewer; absent for spectators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Variant of the agent that plays the seat, in a run with variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Phases of the game in which the server asks the client each question only once per run, and plays the first answer
    /// again in later matches.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub kept_phases: Vec<String>,
    /// Agents in seat order.
    pub seats: Vec<SeatInfo>,
    /// True if the match counts for ratings.
    #[serde(default, deserialize_with = "or_default")]
    pub rated: bool,
    /// Clock of every seat.
    #[serde(default, deserialize_with = "or_default")]
    pub clock: Clock,
    /// Milliseconds for which a seat's client may be disconnected in the whole match, until which its clock stands still.
    /// A client that is away for longer loses the match. Absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Handling of illegal moves.
    #[serde(default, deserialize_with = "or_default")]
    pub illegal: IllegalMoveRules,
    /// True if a seat's only legal move is played automatically.
    #[serde(default, deserialize_with = "or_default")]
    pub skip_forced: bool,
    /// Commitment to the seed: hex SHA-256 over the salt's bytes and the seed's decimal text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_commit: Option<String>,
}

impl Message for MatchStart {
    const TYPE: &'static str = "match_start";
}

impl ServerBody for MatchStart {}
