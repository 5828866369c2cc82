//! A position of play: what stands on the board, and what each seat knows of it.

use super::board::{ALL, CELLS, cells};
use super::document::{MOST_KINDS, MOST_PLIES};
use super::rules::Rules;

/// No number.
pub(super) const NONE: u8 = u8::MAX;
/// No action of a seat in a ply.
pub(super) const NOTHING: u16 = u16::MAX;

/// Who has won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// This seat.
    Seat(u8),
    /// Nobody.
    Draw,
}

/// Why the game is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A row of pieces.
    Line,
    /// A piece has reached its zone.
    Reach,
    /// A seat has no pieces left.
    Eliminated,
    /// A seat has enough pieces.
    PiecesGe,
    /// The board is full.
    Full,
    /// Both seats have placed all.
    SupplyOut,
    /// A seat had no action but pass.
    Stuck,
    /// The plies are used up.
    PlyCap,
    /// No seat had an action, and no rule speaks of it.
    NoAction,
}

/// The end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameEnd {
    /// Who has won.
    pub winner: Winner,
    /// Why it is over.
    pub why: Why,
    /// Whether the board was scored.
    pub scored: bool,
}

/// A position of play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardState {
    /// The cells of each seat's pieces.
    pub pieces: [u32; 2],
    /// The kind of the piece on each cell.
    pub kind: [u8; CELLS],
    /// Its number.
    pub value: [u8; CELLS],
    /// Cells of pieces whose number everybody knows.
    pub shown: u32,
    /// Cells that a seat knows as taken by a hidden piece.
    pub bumped: [u32; 2],
    /// How many of each kind a seat has placed.
    pub placed: [[u8; MOST_KINDS]; 2],
    /// The sum of the numbers that it has placed.
    pub sums: [[u16; MOST_KINDS]; 2],
    /// The numbers that it has placed, as a set.
    pub used: [[u32; MOST_KINDS]; 2],
    /// Pieces of the opponent that a seat has taken off the board.
    pub captured: [u16; 2],
    /// Whether a seat has had a piece.
    pub had: [bool; 2],
    /// Plies so far.
    pub ply: u8,
    /// The seat that moved first.
    pub first: u8,
    /// The seat to move, where seats move in turn.
    pub mover: u8,
    /// Seats that act now, as a set.
    pub acts: u8,
    /// Seats that have an action other than pass, as a set.
    pub free: u8,
    /// The numbers of the mover and of the piece that it moved onto, if the last ply showed them.
    pub contact: [Option<(u8, u8)>; 2],
    /// The end.
    pub over: Option<GameEnd>,
    /// The actions of each ply, by seat.
    pub past: [[u16; 2]; MOST_PLIES as usize],
}

impl BoardState {
    /// All pieces.
    #[inline]
    pub(super) fn occupied(&self) -> u32 {
        self.pieces[0] | self.pieces[1]
    }

    /// The number of the piece on a cell.
    #[inline]
    pub(super) fn number(&self, cell: usize) -> Option<u8> {
        Some(self.value[cell]).filter(|&v| v != NONE)
    }

    /// The owner of the piece on a cell.
    pub(super) fn owner(&self, cell: usize) -> Option<usize> {
        (0..2).find(|&seat| self.pieces[seat] >> cell & 1 == 1)
    }

    /// Whether the numbers of a seat's pieces are known to `viewer`.
    pub(super) fn is_known_to(&self, rules: &Rules, viewer: Option<usize>, cell: usize) -> bool {
        !rules.document.hidden.values
            || self.over.is_some()
            || self.shown >> cell & 1 == 1
            || viewer.is_some() && self.owner(cell) == viewer
    }

    /// Takes the piece off a cell.
    pub(super) fn lift(&mut self, cell: usize) {
        self.pieces.iter_mut().for_each(|p| *p &= !(1 << cell));
        self.shown &= !(1 << cell);
        self.value[cell] = NONE;
    }

    /// Whether the seat's pieces may be seen by `viewer`.
    pub(super) fn sees(&self, rules: &Rules, viewer: Option<usize>, seat: usize) -> bool {
        !rules.document.hidden.pieces || self.over.is_some() || viewer == Some(seat)
    }

    /// The cells that `seat` holds empty, as far as it knows.
    #[inline]
    pub(super) fn empty(&self, rules: &Rules, seat: usize) -> u32 {
        let known = if rules.document.hidden.pieces { self.pieces[seat] | self.bumped[seat] } else { self.occupied() };
        ALL & !known
    }

    /// The cells of a set that hold pieces.
    pub(super) fn on(&self, set: u32) -> impl Iterator<Item = usize> {
        cells(set & self.occupied())
    }
}
