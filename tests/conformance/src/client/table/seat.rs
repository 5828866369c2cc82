//! Seat of the client in a scripted match.

use std::collections::BTreeMap;
use std::fmt;

use ludex_env::{ParsedMove, Seat};
use ludex_protocol::message::{Act, TurnFrame};
use ludex_protocol::{Id, Move};

/// Seat of the client, with its own numbering of turns and messages.
pub(in crate::client) struct ScriptSeat {
    pub seat: Seat,
    /// Turn that the client has not answered yet.
    pub open: Option<TurnFrame>,
    /// Sequence number of the last message about the seat that was sent on any connection.
    pub told: Option<u64>,
    /// Acts of the client, each with the id of the first request that carried the act.
    pub acts: BTreeMap<ActKey, (Move, Id)>,
    /// Number of messages about the seat.
    pub messages: u64,
    /// Number of turns so far.
    pub turns: u32,
    /// Moves of the pending turn that were refused although they are legal.
    pub refused: Vec<ParsedMove>,
}

impl ScriptSeat {
    pub fn new(seat: Seat) -> Self {
        ScriptSeat { seat, open: None, told: None, acts: BTreeMap::new(), messages: 0, turns: 0, refused: Vec::new() }
    }

    /// Returns the key that the next act must have, if the seat is to move.
    pub fn due(&self) -> Option<ActKey> {
        self.open.as_ref().map(|turn| ActKey { seat: self.seat, turn: turn.turn, attempt: turn.attempt })
    }

    /// Returns the key of an act for this seat.
    pub fn key(&self, act: &Act) -> ActKey {
        ActKey { seat: self.seat, turn: act.turn, attempt: act.attempt }
    }
}

/// Key of an act within a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::client) struct ActKey {
    pub seat: Seat,
    pub turn: u32,
    pub attempt: u32,
}

impl fmt::Display for ActKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seat {}, turn {}, try {}", self.seat, self.turn, self.attempt)
    }
}
