//! Action ids, in one layout for all documents.

use ludex_env::game::Action;

use super::board::CELLS;
use super::document::MOST_KINDS;

/// Accepts the open proposal. Lower ids propose F0, F1 and F2.
pub(super) const ACCEPT: Action = 3;
/// Rejects; proposals stay open.
pub(super) const REJECT: Action = 4;
/// Passes for one ply.
pub(super) const PASS: Action = 5;
/// Number of values that a piece may have, 0 included.
const NUMBERS: usize = 26;
const PLACE: usize = 6;
const MOVE: usize = PLACE + MOST_KINDS * CELLS * NUMBERS;
/// Number of action ids.
pub(super) const ACTIONS: u32 = (MOVE + CELLS * CELLS) as u32;

/// The effect of an id in play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ply {
    /// Leaves the board as it is.
    Pass,
    /// Places a piece on a cell.
    Place {
        /// Index in the list of kinds.
        kind: usize,
        cell: usize,
        /// The number of the piece; 0 for pieces without one.
        value: u8,
    },
    /// Moves a piece to another cell.
    Move { from: usize, to: usize },
}

/// Decodes an id; ids of the negotiation and beyond the range decode to a pass.
#[inline]
pub(super) fn ply(a: Action) -> Ply {
    let a = a as usize;
    if let Some(k) = a.checked_sub(MOVE) {
        let (from, to) = (k / CELLS, k % CELLS);
        return if from < CELLS { Ply::Move { from, to } } else { Ply::Pass };
    }
    match a.checked_sub(PLACE) {
        None => Ply::Pass,
        Some(k) => Ply::Place { kind: k / (CELLS * NUMBERS), cell: k / NUMBERS % CELLS, value: (k % NUMBERS) as u8 },
    }
}

/// Returns the id of a placement.
#[inline]
pub(super) fn place(kind: usize, cell: usize, value: u8) -> Action {
    (PLACE + (kind * CELLS + cell) * NUMBERS + usize::from(value)) as Action
}

/// Returns the id of a move.
#[inline]
pub(super) fn shift(from: usize, to: usize) -> Action {
    (MOVE + from * CELLS + to) as Action
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_round_trip() {
        assert_eq!((ACTIONS, MOVE), (3_231, 2_606));
        for a in PASS..ACTIONS {
            let again = match ply(a) {
                Ply::Pass => PASS,
                Ply::Place { kind, cell, value } => place(kind, cell, value),
                Ply::Move { from, to } => shift(from, to),
            };
            assert_eq!(again, a);
        }
        assert_eq!(ply(Action::MAX), Ply::Pass);
    }
}
