//! Connect Four's board of six rows and seven columns as bits.
//!
//! Column by column, each from the bottom, with one bit on top that stays empty: a stone is dropped by an addition, and
//! lines cannot run from one column into the next. Source: Tromp's *Fhourstones*; Pons, *Solving Connect Four* (2019).

/// Rows.
pub(super) const ROWS: u32 = 6;
/// Columns.
pub(super) const COLUMNS: u32 = 7;
/// Cells.
pub(super) const CELLS: u32 = ROWS * COLUMNS;

/// Bits from one column to the next.
const STRIDE: u32 = ROWS + 1;
/// The lowest cell of every column.
const BOTTOM: u64 = {
    let (mut bits, mut column) = (0, 0);
    while column < COLUMNS {
        bits |= 1 << (column * STRIDE);
        column += 1;
    }
    bits
};
/// All cells.
const BOARD: u64 = BOTTOM * ((1 << ROWS) - 1);

/// A position in which nobody has four in a row yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The stones of the side to move.
    mine: u64,
    /// All stones.
    all: u64,
    /// How many stones there are.
    pub(super) ply: u32,
}

/// The empty cells, reachable or not, that would give `stones` four in a row.
fn fours(stones: u64, all: u64) -> u64 {
    // Upwards, the three must stand right below.
    let mut cells = stones << 1 & stones << 2 & stones << 3;
    for d in [STRIDE - 1, STRIDE, STRIDE + 1] {
        // Two neighbours on one side, then a third beyond them or on the other side.
        let after = stones << d & stones << (2 * d);
        let before = stones >> d & stones >> (2 * d);
        cells |= after & (stones << (3 * d) | stones >> d);
        cells |= before & (stones >> (3 * d) | stones << d);
    }
    cells & BOARD & !all
}

impl Position {
    /// The position that a drawing shows: rows of `.`, `x` and `o`, the top row first.
    pub(super) fn from_rows(board: &[String]) -> Position {
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
        Position { mine: sides[all.count_ones() as usize & 1], all, ply: all.count_ones() }
    }

    /// The cells on which a stone can land now.
    pub(super) fn open(self) -> u64 {
        (self.all + BOTTOM) & BOARD
    }

    /// The open cell of a column; 0 where it is full.
    pub(super) fn cell(self, column: u32) -> u64 {
        self.open() & (((1 << ROWS) - 1) << (column * STRIDE))
    }

    /// The open cells on which the side to move wins at once.
    pub(super) fn wins(self) -> u64 {
        fours(self.mine, self.all) & self.open()
    }

    /// The open cells after which the other side cannot win at once. Empty if it can win against every move.
    pub(super) fn safe(self) -> u64 {
        let (open, theirs) = (self.open(), fours(self.all ^ self.mine, self.all));
        let forced = open & theirs;
        let open = match forced.count_ones() {
            0 => open,
            1 => forced,
            _ => return 0,
        };
        // Not below a cell on which they win either.
        open & !(theirs >> 1)
    }

    /// The open cells on which the other side would win at once.
    pub(super) fn parries(self) -> u64 {
        fours(self.all ^ self.mine, self.all) & self.open()
    }

    /// After a stone of the side to move on an open cell that does not win.
    pub(super) fn after(self, cell: u64) -> Position {
        Position { mine: self.all ^ self.mine, all: self.all | cell, ply: self.ply + 1 }
    }

    /// How many cells would win for the side to move after it plays `cell`: moves with more of them are looked at first.
    pub(super) fn threats(self, cell: u64) -> u32 {
        fours(self.mine | cell, self.all | cell).count_ones()
    }

    /// A number that is different for every position.
    pub(super) fn key(self) -> u64 {
        self.mine + self.all
    }

    /// The position in a mirror.
    pub(super) fn mirrored(self) -> Position {
        let flip = |bits: u64| {
            let file = |column: u32| bits >> (column * STRIDE) & ((1 << STRIDE) - 1);
            (0..COLUMNS).fold(0, |out, column| out | file(column) << ((COLUMNS - 1 - column) * STRIDE))
        };
        Position { mine: flip(self.mine), all: flip(self.all), ply: self.ply }
    }

    /// The columns as digits in base 3: stones from the bottom, 1 for the side to move and 2 for the other, and a 0 after
    /// each column. Fits 29 bits up to ply 12.
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
            // The last column needs no end.
            if column + 1 < COLUMNS {
                number *= 3;
            }
        }
        number
    }
}

/// The column of a cell.
pub(super) fn column(cell: u64) -> u32 {
    cell.trailing_zeros() / STRIDE
}
