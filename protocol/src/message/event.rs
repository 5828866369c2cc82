//! An event of a match.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServerBody;
use super::turn::SeatView;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, numbers, or_default};

/// `event`: an event of a match, as visible to this viewer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatchEvent {
    /// Sequence number of the message within the match for this viewer.
    pub seq: u64,
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the viewer; absent for spectators. The seat in the event's own fields is that of the player.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewer: Option<u32>,
    /// Kind of the event and its fields.
    #[serde(flatten)]
    pub kind: EventKind,
    /// State after the event, for spectators that requested views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<SeatView>,
}

/// Kind of an event, with its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A seat played a move.
    Move {
        /// Seat that played the move.
        seat: u32,
        /// Id of the action, if the move has one and the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// Text of the move.
        text: String,
        /// Thinking time of the move in milliseconds.
        #[serde(default, deserialize_with = "or_default")]
        ms: u64,
        /// True if the agent did not choose the move: a move of the illegal-move policy, a seat's only legal move, or
        /// a move of the start that the suite prescribes.
        #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
        forced: bool,
    },
    /// A chance outcome was drawn.
    Chance {
        /// Id of the outcome, if the viewer may see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<u32>,
        /// Text of the outcome.
        text: String,
    },
    /// Hidden information was revealed.
    Reveal {
        /// Description of the revealed information, for people.
        text: String,
        /// Machine-readable content; its structure depends on the game.
        #[serde(default)]
        data: Value,
    },
    /// A seat sent a message to the other seats.
    Say {
        /// Seat of the speaker.
        seat: u32,
        /// Text of the message.
        text: String,
    },
    /// A new phase of the game starts.
    Phase {
        /// Name of the phase.
        phase: String,
    },
    /// The seats received rewards.
    Reward {
        /// Reward of each seat.
        #[serde(serialize_with = "numbers")]
        rewards: Vec<f64>,
    },
    /// A seat's agent disconnected or reconnected.
    Presence {
        /// Seat of the agent.
        seat: u32,
        /// True if the agent is connected.
        online: bool,
        /// Milliseconds for which the seat stays reserved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_ms: Option<u64>,
    },
}

impl Message for MatchEvent {
    const TYPE: &'static str = "event";
    const WRITTEN_OFTEN: bool = true;
}

impl ServerBody for MatchEvent {}
