//! Everything about a match again, instead of what was missed.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::event::MatchEvent;
use super::match_end::MatchEnd;
use super::match_start::MatchStart;
use super::turn::TurnFrame;
use super::{FromServer, ServerMessage};
use crate::envelope::{Envelope, Message};
use crate::serde_helpers::or_default;
use crate::tree::Node;

/// A numbered message of a match, as it is kept to be sent again.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "type", rename_all = "snake_case"))]
pub enum MatchFrame {
    /// A match begins.
    MatchStart(Box<MatchStart>),
    /// This seat is to move.
    Turn(Box<TurnFrame>),
    /// Something happened.
    Event(Box<MatchEvent>),
    /// A match is over.
    MatchEnd(Box<MatchEnd>),
}

impl MatchFrame {
    /// Number within the match for its viewer.
    pub fn seq(&self) -> u64 {
        match self {
            MatchFrame::MatchStart(frame) => frame.seq,
            MatchFrame::Turn(frame) => frame.seq,
            MatchFrame::Event(frame) => frame.seq,
            MatchFrame::MatchEnd(frame) => frame.seq,
        }
    }

    /// Gives it another number, for another viewer of the same thing.
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
            _ => return Err(D::Error::custom("a frame of a match is a match_start, turn, event or match_end")),
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

/// `resync`: forget what you knew of this match, this is all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resync {
    /// The last number covered; the resync uses none itself.
    pub seq: u64,
    /// The match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// How it began.
    #[serde(serialize_with = "start_with_type")]
    pub start: Box<MatchStart>,
    /// What happened since.
    #[serde(default, deserialize_with = "or_default")]
    pub events: Vec<MatchFrame>,
    /// The turn that waits for this seat, with its own `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub turn: Option<Box<TurnFrame>>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "option_with_type")]
    pub end: Option<Box<MatchEnd>>,
}

/// Writes a message inside a `resync`, as whole as it would come alone.
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

impl FromServer for Resync {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_can_be_numbered_again() {
        let mut frame = MatchFrame::Turn(Box::default());
        frame.set_seq(7);
        assert_eq!(frame.seq(), 7);
        assert!(matches!(frame.into(), ServerMessage::Turn(turn) if turn.seq == 7));
    }
}
