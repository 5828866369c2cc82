//! Action ids. All documents share one layout.

use ludex_env::game::Action;

use super::board::CELLS;
use super::document::MOST_KINDS;

/// Accepts the open proposal. Lower ids propose the rules F0, F1 and F2.
pub(super) const ACCEPT: Action = 3;
/// Rejects the open proposal. All proposals remain open.
pub(super) const REJECT: Action = 4;
/// Passes for one ply. Legal in play only.
pub(super) const PASS: Action = 5;
/// Number of different piece numbers, 0 to 25.
const NUMBERS: usize = 26;
const PLACE: usize = 6;
const MOVE: usize = PLACE + MOST_KINDS * CELLS * NUMBERS;
/// Number of action ids.
pub(super) const ACTIONS: u32 = (MOVE + CELLS * CELLS) as u32;

/// Decoded action id of a ply in play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ply {
    /// Does nothing for one ply.
    Pass,
    /// Places a piece on a cell.
    Place {
        /// Index of the piece kind in the document's list of kinds.
        kind: usize,
        cell: usize,
        /// The number of the piece; 0 for a kind without numbers.
        value: u8,
    },
    /// Moves a piece to another cell.
    Move { from: usize, to: usize },
}

/// Decodes an id. Ids of negotiation messages and ids beyond the range are decoded as a pass.
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
