//! Bitboard of Connect Four with six rows and seven columns.
//!
//! Bits are numbered column by column, from the bottom up. One extra bit above each column stays empty, so that an
//! addition drops a stone and lines do not continue into the next column. Source: Tromp's *Fhourstones*; Pons, *Solving
//! Connect Four* (2019).

pub(super) const ROWS: u32 = 6;
pub(super) const COLUMNS: u32 = 7;
pub(super) const CELLS: u32 = ROWS * COLUMNS;

/// Number of bits per column.
const STRIDE: u32 = ROWS + 1;
/// Bit mask of the lowest cell of every column.
const BOTTOM: u64 = {
    let (mut bits, mut column) = (0, 0);
    while column < COLUMNS {
        bits |= 1 << (column * STRIDE);
        column += 1;
    }
    bits
};
const BOARD: u64 = BOTTOM * ((1 << ROWS) - 1);

/// Position in which neither side has four stones in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitBoard {
    /// Bit mask of the stones of the side to move.
    mine: u64,
    /// Bit mask of the stones of both sides.
    all: u64,
    pub(super) ply: u32,
}

/// Returns the empty cells that would complete four in a row for `stones`, even if a stone cannot be dropped there yet.
fn fours(stones: u64, all: u64) -> u64 {
    // Vertical: the three stones must be directly below.
    let mut cells = stones << 1 & stones << 2 & stones << 3;
    for d in [STRIDE - 1, STRIDE, STRIDE + 1] {
        // Two neighbors on one side, and a third neighbor beyond them or on the opposite side.
        let after = stones << d & stones << (2 * d);
        let before = stones >> d & stones >> (2 * d);
        cells |= after & (stones << (3 * d) | stones >> d);
        cells |= before & (stones >> (3 * d) | stones << d);
    }
    cells & BOARD & !all
}

impl BitBoard {
    /// Parses a position from rows of `.`, `x` and `o`, with the top row first.
    pub(super) fn from_rows(board: &[String]) -> BitBoard {
        let (mut sides, mut all) = ([0u64; 2], 0u64);
        for (row, line) in (0..ROWS).zip(board.iter().rev()) {
            for (column, mark) in (0..COLUMNS).zip(line.chars()) {
                let cell = 1 << (column * STRIDE + row);
                match mark {
                    'x' => sides[0] |= cell,
                    'o' => sides[1] |= cell,
                    _ => continue,
                }
                all |= cell;
            }
        }
        BitBoard { mine: sides[all.count_ones() as usize & 1], all, ply: all.count_ones() }
    }

    /// Returns the cells on which the next stone can be dropped.
    pub(super) fn open(self) -> u64 {
        (self.all + BOTTOM) & BOARD
    }

    /// Returns the open cell of a column; 0 if the column is full.
    pub(super) fn cell(self, column: u32) -> u64 {
        self.open() & (((1 << ROWS) - 1) << (column * STRIDE))
    }

    /// Returns the open cells that win immediately for the side to move.
    pub(super) fn wins(self) -> u64 {
        fours(self.mine, self.all) & self.open()
    }

    /// Returns the open cells after which the opponent cannot win immediately; empty if the opponent wins after every
    /// move.
    pub(super) fn safe(self) -> u64 {
        let (open, theirs) = (self.open(), fours(self.all ^ self.mine, self.all));
        let forced = open & theirs;
        let open = match forced.count_ones() {
            0 => open,
            1 => forced,
            _ => return 0,
        };
        // Excludes the cell below a winning cell of the opponent.
        open & !(theirs >> 1)
    }

    /// Returns the open cells that would win immediately for the opponent.
    pub(super) fn blocking_cells(self) -> u64 {
        fours(self.all ^ self.mine, self.all) & self.open()
    }

    /// Returns the position after the side to move drops a stone on an open cell. The move must not win.
    pub(super) fn after(self, cell: u64) -> BitBoard {
        BitBoard { mine: self.all ^ self.mine, all: self.all | cell, ply: self.ply + 1 }
    }

    /// Returns the number of cells that would win for the side to move after it plays `cell`. Used for move ordering.
    pub(super) fn threats(self, cell: u64) -> u32 {
        fours(self.mine | cell, self.all | cell).count_ones()
    }

    /// Returns a number that identifies the position.
    pub(super) fn key(self) -> u64 {
        self.mine + self.all
    }

    /// Returns the position mirrored left to right.
    pub(super) fn mirrored(self) -> BitBoard {
        let flip = |bits: u64| {
            let file = |column: u32| bits >> (column * STRIDE) & ((1 << STRIDE) - 1);
            (0..COLUMNS).fold(0, |out, column| out | file(column) << ((COLUMNS - 1 - column) * STRIDE))
        };
        BitBoard { mine: flip(self.mine), all: flip(self.all), ply: self.ply }
    }

    /// Returns the position as a base-3 number. Each column contributes its stones from the bottom up, 1 for the side
    /// to move and 2 for the opponent, then a 0 as separator. Up to ply 12, the number fits 29 bits.
    pub(super) fn ternary(self) -> u64 {
        let mut number = 0;
        for column in 0..COLUMNS {
            for row in 0..ROWS {
                let bit = column * STRIDE + row;
                if self.all >> bit & 1 == 0 {
                    break;
                }
                number = number * 3 + if self.mine >> bit & 1 == 1 { 1 } else { 2 };
            }
            // The last column needs no terminator.
            if column + 1 < COLUMNS {
                number *= 3;
            }
        }
        number
    }
}

/// Returns the column of a cell.
pub(super) fn column(cell: u64) -> u32 {
    cell.trailing_zeros() / STRIDE
}
