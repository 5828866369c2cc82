//! Points of a script at which the connection may be cut.

use std::fmt;

use ludex_env::Seat;
use ludex_protocol::message::{EventKind, MatchFrame};

use super::super::table::ScriptFrame;

/// Index of the client's turn at which most disturbances start. The client has moved once in this seat and must move
/// again.
pub(super) const SECOND: u32 = 1;

/// Point of a script.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Before a turn is sent. Nothing is sent at such a point.
    BeforeTurn(Seat, u32),
    /// A turn was sent.
    SentTurn(Seat, u32),
    /// An act for a turn was received.
    GotAct(Seat, u32),
    /// Any other message about a seat was sent.
    SentTo(Seat, String),
    /// Any other message was sent or received.
    Other(String),
}

impl Place {
    /// Returns the point after a message about a seat was sent.
    pub fn sent(message: &ScriptFrame) -> Place {
        let (seat, seq) = (message.seat, message.seq);
        let what = match &message.frame {
            Some(MatchFrame::Turn(turn)) => return Place::SentTurn(seat, turn.turn),
            Some(MatchFrame::MatchStart(_)) => "match_start".into(),
            Some(MatchFrame::MatchEnd(_)) => "match_end".into(),
            Some(MatchFrame::Event(event)) if matches!(event.kind, EventKind::Move { .. }) => {
                format!("move {seq}")
            }
            Some(MatchFrame::Event(_)) | None => format!("event {seq}"),
        };
        Place::SentTo(seat, what)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::BeforeTurn(seat, turn) => write!(f, "before turn {turn} of seat {seat}"),
            Place::SentTurn(seat, turn) => write!(f, "sent turn {turn} of seat {seat}"),
            Place::GotAct(seat, turn) => write!(f, "got act {turn} of seat {seat}"),
            Place::SentTo(seat, what) => write!(f, "sent {what} of seat {seat}"),
            Place::Other(what) => f.write_str(what),
        }
    }
}
