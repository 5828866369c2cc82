//! The complete state of a match, sent instead of missed messages.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::event::MatchEvent;
use super::match_end::MatchEnd;
use super::match_start::MatchStart;
use super::turn::TurnFrame;
use super::{ServerBody, ServerMessage};
use crate::envelope::{Envelope, Message};
use crate::serde_helpers::or_default;
use crate::tree::Node;

/// A numbered message of a match, stored for retransmission.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "type", rename_all = "snake_case"))]
pub enum MatchFrame {
    /// Start of the match.
    MatchStart(Box<MatchStart>),
    /// Request for a move of the viewer's seat.
    Turn(Box<TurnFrame>),
    /// Event of the match.
    Event(Box<MatchEvent>),
    /// End of the match.
    MatchEnd(Box<MatchEnd>),
}

impl MatchFrame {
    /// Returns the message's sequence number within the match for one viewer.
    pub fn seq(&self) -> u64 {
        match self {
            MatchFrame::MatchStart(frame) => frame.seq,
            MatchFrame::Turn(frame) => frame.seq,
            MatchFrame::Event(frame) => frame.seq,
            MatchFrame::MatchEnd(frame) => frame.seq,
        }
    }

    /// Sets the sequence number, which differs between the viewers of a message.
    pub fn set_seq(&mut self, seq: u64) {
        match self {
            MatchFrame::MatchStart(frame) => frame.seq = seq,
            MatchFrame::Turn(frame) => frame.seq = seq,
            MatchFrame::Event(frame) => frame.seq = seq,
            MatchFrame::MatchEnd(frame) => frame.seq = seq,
        }
    }
}

impl Serialize for MatchFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MatchFrame::MatchStart(frame) => with_type(&**frame, serializer),
            MatchFrame::Turn(frame) => with_type(&**frame, serializer),
            MatchFrame::Event(frame) => with_type(&**frame, serializer),
            MatchFrame::MatchEnd(frame) => with_type(&**frame, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MatchFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = Node::deserialize(deserializer)?;
        let read = match frame.field("type").and_then(Node::as_str) {
            Some(MatchStart::TYPE) => frame.read().map(MatchFrame::MatchStart),
            Some(TurnFrame::TYPE) => frame.read().map(MatchFrame::Turn),
            Some(MatchEvent::TYPE) => frame.read().map(MatchFrame::Event),
            Some(MatchEnd::TYPE) => frame.read().map(MatchFrame::MatchEnd),
            _ => return Err(D::Error::custom("`type`: expected match_start, turn, event or match_end")),
        };
        read.map_err(|problem| D::Error::custom(problem.into_refusal().message))
    }
}

impl From<MatchFrame> for ServerMessage {
    fn from(frame: MatchFrame) -> Self {
        match frame {
            MatchFrame::MatchStart(frame) => ServerMessage::MatchStart(frame),
            MatchFrame::Turn(frame) => ServerMessage::Turn(frame),
            MatchFrame::Event(frame) => ServerMessage::Event(frame),
            MatchFrame::MatchEnd(frame) => ServerMessage::MatchEnd(frame),
        }
    }
}

/// `resync`: the complete state of a match, which replaces the client's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resync {
    /// Sequence number of the last message that the resync covers. The resync itself is not numbered.
    pub seq: u64,
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the viewer; absent for spectators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Start message of the match.
    #[serde(serialize_with = "start_with_type")]
    pub start: Box<MatchStart>,
    /// Messages since the start, in order.
    #[serde(default, deserialize_with = "or_default")]
    pub events: Vec<MatchFrame>,
    /// Pending turn of the viewer's seat, with its own `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub turn: Option<Box<TurnFrame>>,
    /// End message of the match, if it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub end: Option<Box<MatchEnd>>,
}

/// Serializes a message inside a `resync`, including its `type`.
fn with_type<M: Message, S: Serializer>(message: &M, serializer: S) -> Result<S::Ok, S::Error> {
    Envelope { id_name: "re", id: None, message }.serialize(serializer)
}

fn start_with_type<S: Serializer>(start: &MatchStart, serializer: S) -> Result<S::Ok, S::Error> {
    with_type(start, serializer)
}

fn option_with_type<M: Message, S: Serializer>(message: &Option<Box<M>>, serializer: S) -> Result<S::Ok, S::Error> {
    let message = message.as_deref().map(|message| Envelope { id_name: "re", id: None, message });
    message.serialize(serializer)
}

impl Message for Resync {
    const TYPE: &'static str = "resync";
}

impl ServerBody for Resync {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_number_of_match_frame_can_be_set() {
        let mut frame = MatchFrame::Turn(Box::default());
        frame.set_seq(7);
        assert_eq!(frame.seq(), 7);
        assert!(matches!(frame.into(), ServerMessage::Turn(turn) if turn.seq == 7));
    }
}
