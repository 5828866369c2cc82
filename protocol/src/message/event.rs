//! Something happened in a match.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FromServer;
use super::turn::SeatView;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, numbers, or_default};

/// `event`: something happened in a match, as this viewer sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEvent {
    /// Number within the match for this viewer.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// What a spectator who asked for views sees afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<SeatView>,
}

/// What happened in a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A seat moved.
    Move {
        /// The seat.
        seat: u32,
        /// The action's id, where it has one and the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// The move as text.
        text: String,
        /// Milliseconds that it took.
        #[serde(default, deserialize_with = "or_default")]
        ms: u64,
        /// Played by the illegal-move policy, not by the agent.
        #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
        forced: bool,
    },
    /// Chance decided.
    Chance {
        /// The outcome's id, if the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// The outcome as text.
        text: String,
    },
    /// Something hidden is shown.
    Reveal {
        /// For people.
        text: String,
        /// For programs.
        #[serde(default)]
        data: Value,
    },
    /// A seat spoke.
    Say {
        /// The seat.
        seat: u32,
        /// What it said.
        text: String,
    },
    /// A phase begins.
    Phase {
        /// Its name.
        phase: String,
    },
    /// Rewards were paid.
    Reward {
        /// For each seat.
        #[serde(serialize_with = "numbers")]
        rewards: Vec<f64>,
    },
    /// A seat's agent went or came back.
    Presence {
        /// The seat.
        seat: u32,
        /// Whether it is there.
        online: bool,
        /// How long the seat is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
}

impl Message for MatchEvent {
    const TYPE: &'static str = "event";
}

impl FromServer for MatchEvent {}
