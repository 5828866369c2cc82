//! Action ids: one layout for all documents.

use super::board::CELLS;
use super::document::MOST_KINDS;
use crate::game::Action;

/// Proposals of F0, F1 and F2 are the ids below.
pub(super) const ACCEPT: Action = 3;
/// Proposals stay open.
pub(super) const REJECT: Action = 4;
/// Does nothing for one ply.
pub(super) const PASS: Action = 5;
/// Numbers that a piece may have, 0 among them.
const NUMBERS: usize = 26;
const PLACE: usize = 6;
const MOVE: usize = PLACE + MOST_KINDS * CELLS * NUMBERS;
/// How many ids there are.
pub(super) const ACTIONS: u32 = (MOVE + CELLS * CELLS) as u32;

/// What an id does in play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ply {
    /// Nothing.
    Pass,
    /// Puts a piece on a cell.
    Place {
        /// Its place in the list of kinds.
        kind: usize,
        cell: usize,
        /// 0 without a number.
        value: u8,
    },
    /// Moves a piece.
    Move { from: usize, to: usize },
}

/// What an id does; all other ids pass.
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

/// The id of a placement.
#[inline]
pub(super) fn place(kind: usize, cell: usize, value: u8) -> Action {
    (PLACE + (kind * CELLS + cell) * NUMBERS + usize::from(value)) as Action
}

/// The id of a move.
#[inline]
pub(super) fn shift(from: usize, to: usize) -> Action {
    (MOVE + from * CELLS + to) as Action
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_dense_and_lead_back() {
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
