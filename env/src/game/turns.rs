//! Seats, turns, viewers and moves.

use serde_json::Value;

use super::Action;

/// Index of a player, from 0.
pub type Seat = usize;

/// A set of seats 0 to 15, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatSet(pub u16);

impl SeatSet {
    /// Returns the set of seats `0..n`, `n` at most 16.
    pub const fn first(n: usize) -> Self {
        SeatSet(((1u32 << n) - 1) as u16)
    }

    /// Returns true if `seat` is in the set.
    pub const fn has(self, seat: Seat) -> bool {
        seat < 16 && self.0 >> seat & 1 == 1
    }

    /// Iterates over the seats in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        (0..16).filter(move |&s| self.has(s))
    }

    /// Returns the number of seats in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if the set has no seats.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The party that moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToMove {
    /// A single seat, which moves alone.
    Seat(Seat),
    /// Chance, which draws one of the outcomes from [`GameMoves::chance`](super::GameMoves::chance).
    Chance,
    /// Several seats simultaneously, in a joint move.
    Simultaneous(SeatSet),
    /// No party: the episode has ended.
    Over,
}

impl ToMove {
    /// Returns OpenSpiel's player id: the seat (0 or greater), -1 for chance, -2 for simultaneous moves, and -4 at the
    /// end.
    pub const fn code(self) -> i8 {
        match self {
            ToMove::Seat(s) => s as i8,
            ToMove::Chance => -1,
            ToMove::Simultaneous(_) => -2,
            ToMove::Over => -4,
        }
    }

    /// Returns the seat if a single seat moves.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            ToMove::Seat(seat) => Some(seat),
            _ => None,
        }
    }

    /// Returns the seats that move now; empty at chance nodes and after the end.
    pub const fn seats(self) -> SeatSet {
        match self {
            ToMove::Seat(s) => SeatSet(1 << s),
            ToMove::Simultaneous(set) => set,
            ToMove::Chance | ToMove::Over => SeatSet(0),
        }
    }
}

/// The observer that a view is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// A player, who sees the public information and the private information of the seat.
    Seat(Seat),
    /// A spectator, who sees only the public information.
    Public,
}

impl Viewer {
    /// Returns the seat, or `None` for the public.
    pub const fn seat(self) -> Option<Seat> {
        match self {
            Viewer::Seat(seat) => Some(seat),
            Viewer::Public => None,
        }
    }
}

/// The information that one viewer gets from an action. The default contains no information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventView {
    /// The action id, if the viewer may know it.
    pub action: Option<Action>,
    /// Description of the event, independent of anything hidden from the viewer. `None`: the viewer gets no event.
    pub text: Option<String>,
}

/// The party that made a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Chance, which drew an outcome.
    Chance,
    /// A player, by seat.
    Seat(Seat),
}

/// The parsed form of a submitted document or utterance.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedMove {
    /// An ordinary action id.
    Action(Action),
    /// A document or utterance, in the canonical form that records store.
    Document(Value),
}
