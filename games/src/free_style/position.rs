//! Positions in play: the pieces on the board, and what each seat knows about them.

use super::board::{ALL, CELLS, cells};
use super::document::{MOST_KINDS, MOST_PLIES};
use super::rules::Rules;

/// Value that stands for the number of a piece whose kind has no numbers.
pub(super) const NONE: u8 = u8::MAX;
/// Entry for a seat that does not act in a ply.
pub(super) const NOTHING: u16 = u16::MAX;

/// The winner of a game, or a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The seat with this index wins.
    Seat(u8),
    /// The game is drawn.
    Draw,
}

/// The cause of the end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A row of pieces was completed.
    Line,
    /// A piece reached its target zone.
    Reach,
    /// A seat has lost all its pieces.
    Eliminated,
    /// A seat has the required number of pieces.
    PiecesGe,
    /// The board is full.
    Full,
    /// Both seats have placed all their pieces.
    SupplyOut,
    /// A seat had no action other than pass.
    Stuck,
    /// The ply cap was reached.
    PlyCap,
    /// A seat had no action, and no rule of the document applies.
    NoAction,
}

/// The end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameEnd {
    /// The winner, or a draw.
    pub winner: Winner,
    /// The condition that ended the game.
    pub why: Why,
    /// True if the board was scored.
    pub scored: bool,
}

/// A position in play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardState {
    /// The cells of each seat's pieces.
    pub pieces: [u32; 2],
    /// The kind of the piece on each cell.
    pub kind: [u8; CELLS],
    /// The number of the piece on each cell.
    pub value: [u8; CELLS],
    /// Cells of pieces whose number has been revealed.
    pub shown: u32,
    /// Cells on which each seat has bumped into a hidden piece.
    pub bumped: [u32; 2],
    /// Number of pieces that each seat has placed, by seat and kind.
    pub placed: [[u8; MOST_KINDS]; 2],
    /// Sum of the numbers that each seat has placed, by seat and kind.
    pub sums: [[u16; MOST_KINDS]; 2],
    /// Set of the numbers that each seat has placed, by seat and kind.
    pub used: [[u32; MOST_KINDS]; 2],
    /// Number of opposing pieces that each seat has captured or removed.
    pub captured: [u16; 2],
    /// True for each seat that has ever had a piece.
    pub had: [bool; 2],
    /// Number of plies so far.
    pub ply: u8,
    /// The seat that moved first.
    pub first: u8,
    /// The seat to move; not used in games in which both seats act simultaneously.
    pub mover: u8,
    /// Bit set of the seats to move.
    pub acts: u8,
    /// Bit set of the seats that have an action other than a pass.
    pub free: u8,
    /// For each seat, the numbers of the moved piece and of the piece on its target, if the last ply revealed them.
    pub contact: [Option<(u8, u8)>; 2],
    /// The result, once the game is over.
    pub over: Option<GameEnd>,
    /// Action ids of each ply, by seat.
    pub past: [[u16; 2]; MOST_PLIES as usize],
}

impl BoardState {
    /// Returns the set of occupied cells.
    #[inline]
    pub(super) fn occupied(&self) -> u32 {
        self.pieces[0] | self.pieces[1]
    }

    /// Returns the number of the piece on a cell.
    #[inline]
    pub(super) fn number(&self, cell: usize) -> Option<u8> {
        Some(self.value[cell]).filter(|&v| v != NONE)
    }

    /// Returns the owner of the piece on a cell.
    pub(super) fn owner(&self, cell: usize) -> Option<usize> {
        (0..2).find(|&seat| self.pieces[seat] >> cell & 1 == 1)
    }

    /// Returns true if `viewer` (`None`: the public) knows the number of the piece on `cell`.
    pub(super) fn is_known_to(&self, rules: &Rules, viewer: Option<usize>, cell: usize) -> bool {
        !rules.document.hidden.values
            || self.over.is_some()
            || self.shown >> cell & 1 == 1
            || viewer.is_some() && self.owner(cell) == viewer
    }

    /// Removes the piece from a cell.
    pub(super) fn lift(&mut self, cell: usize) {
        self.pieces.iter_mut().for_each(|p| *p &= !(1 << cell));
        self.shown &= !(1 << cell);
        self.value[cell] = NONE;
    }

    /// Returns true if `viewer` (`None`: the public) may see the pieces of `seat`.
    pub(super) fn sees(&self, rules: &Rules, viewer: Option<usize>, seat: usize) -> bool {
        !rules.document.hidden.pieces || self.over.is_some() || viewer == Some(seat)
    }

    /// Returns the cells that appear empty to `seat`. Some of them may contain hidden pieces.
    #[inline]
    pub(super) fn empty(&self, rules: &Rules, seat: usize) -> u32 {
        let known = if rules.document.hidden.pieces { self.pieces[seat] | self.bumped[seat] } else { self.occupied() };
        ALL & !known
    }

    /// Iterates over those cells of a set that hold a piece.
    pub(super) fn on(&self, set: u32) -> impl Iterator<Item = usize> {
        cells(set & self.occupied())
    }
}
