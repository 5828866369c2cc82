//! The board of 5 by 5 cells: neighbors, zones and lines.

use serde::{Deserialize, Serialize};

pub(super) const CELLS: usize = 25;
/// The set of all cells.
pub(super) const ALL: u32 = (1 << CELLS) - 1;
/// Number of rows and number of columns.
pub(super) const SIDE: usize = 5;
/// The eight directions as (row, column) steps; the first four are orthogonal.
pub(super) const DIRECTIONS: [(i8, i8); 8] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)];

/// Index of a cell: a1 is 0, b1 is 1, and so on to e5, which is 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cell(pub u8);

impl TryFrom<String> for Cell {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        cell(&text).map(|c| Cell(c as u8)).ok_or_else(|| format!("expected a cell from a1 to e5, got {text:?}"))
    }
}

impl From<Cell> for String {
    fn from(cell: Cell) -> String {
        name(cell.0.into())
    }
}

/// Returns the name of a cell, such as `c3`.
pub(super) fn name(cell: usize) -> String {
    format!("{}{}", char::from(b'a' + (cell % SIDE) as u8), cell / SIDE + 1)
}

/// Parses the name of a cell in any letter case.
pub(super) fn cell(text: &str) -> Option<usize> {
    let &[column, row] = text.as_bytes() else { return None };
    let (column, row) = (column.to_ascii_lowercase().wrapping_sub(b'a'), row.wrapping_sub(b'1'));
    (column < 5 && row < 5).then(|| usize::from(row) * SIDE + usize::from(column))
}

/// Iterates over the cells of a set in ascending order.
pub(super) fn cells(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let cell = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (cell < CELLS).then_some(cell)
    })
}

/// Returns the names of the cells of a set.
pub(super) fn names(set: u32) -> String {
    cells(set).map(name).collect::<Vec<_>>().join(", ")
}

/// Returns the cell at an offset of `rows` and `columns`, or `None` if that is off the board.
pub(super) const fn step(cell: usize, rows: i8, columns: i8) -> Option<usize> {
    let (row, column) = ((cell / SIDE) as i8 + rows, (cell % SIDE) as i8 + columns);
    if row >= 0 && row < 5 && column >= 0 && column < 5 { Some(row as usize * SIDE + column as usize) } else { None }
}

const fn around(directions: usize) -> [u32; CELLS] {
    let mut out = [0; CELLS];
    let mut cell = 0;
    while cell < CELLS {
        let mut d = 0;
        while d < directions {
            if let Some(to) = step(cell, DIRECTIONS[d].0, DIRECTIONS[d].1) {
                out[cell] |= 1 << to;
            }
            d += 1;
        }
        cell += 1;
    }
    out
}

/// Orthogonal neighbors of each cell.
pub(super) static ADJ4: [u32; CELLS] = around(4);
/// Orthogonal and diagonal neighbors of each cell.
pub(super) static ADJ8: [u32; CELLS] = around(8);

const EDGES: [u32; 2] = [0x108421, 0x1084210];

/// Returns the orthogonal neighbors of all cells in `set`. The result may contain cells of `set`.
pub(super) const fn grow4(set: u32) -> u32 {
    let [a, e] = EDGES;
    (set << 5 | set >> 5 | (set & !e) << 1 | (set & !a) >> 1) & ALL
}

/// Returns the orthogonal and diagonal neighbors of all cells in `set`. The result may contain cells of `set`.
pub(super) const fn grow8(set: u32) -> u32 {
    let [a, e] = EDGES;
    let wide = set | (set & !e) << 1 | (set & !a) >> 1;
    (wide << 5 | wide >> 5 | (set & !e) << 1 | (set & !a) >> 1) & ALL
}

/// Returns the cells of `among` that are reachable from `from` by orthogonal steps within `among`.
pub(super) fn flood(from: u32, among: u32) -> u32 {
    let mut set = from & among;
    loop {
        let more = (set | grow4(set)) & among;
        if more == set {
            return set;
        }
        set = more;
    }
}

/// A run of adjacent cells in a straight line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The cells of the run.
    pub set: u32,
    /// The cells directly before and after the run, if they are on the board.
    pub ends: u32,
}

/// Returns all runs of `len` cells: along rows and columns if `orth`, and along diagonals if `diag`.
pub(super) fn stretches(len: u8, orth: bool, diag: bool) -> Vec<Stretch> {
    let straight = [(0, 1), (1, 0)].into_iter().filter(|_| orth);
    let slanted = [(1, 1), (1, -1)].into_iter().filter(|_| diag);
    let mut out = Vec::new();
    for (rows, columns) in straight.chain(slanted) {
        for from in 0..CELLS {
            let at = |k: i8| step(from, rows * k, columns * k);
            if let Some(set) = (0..len as i8).map(at).try_fold(0, |set, cell| Some(set | 1 << cell?)) {
                let bit = |cell: Option<usize>| cell.map_or(0, |c| 1 << c);
                out.push(Stretch { set, ends: bit(at(-1)) | bit(at(len as i8)) });
            }
        }
    }
    out
}

/// Returns the cells of a built-in zone.
pub(super) fn zone(name: &str) -> Option<u32> {
    let row = |r: u32| 0x1f << (5 * r);
    let column = |c: u32| EDGES[0] << c;
    let edge = row(0) | row(4) | column(0) | column(4);
    Some(match name {
        "all" => ALL,
        "centre" => 1 << 12,
        "edge" => edge,
        "corner" => (row(0) | row(4)) & (column(0) | column(4)),
        "home0" => row(0),
        "home1" => row(4),
        _ => {
            let digit = name.strip_prefix("row").and_then(|d| d.parse::<u32>().ok()).filter(|d| (1..=5).contains(d));
            let letter = match name.strip_prefix("col").map(str::as_bytes) {
                Some(&[c @ b'a'..=b'e']) => Some(u32::from(c - b'a')),
                _ => None,
            };
            return digit.filter(|_| name.len() == 4).map(|d| row(d - 1)).or(letter.map(column));
        }
    })
}

/// Names of the built-in zones, for error messages.
pub(super) const ZONES: &str = "all, row1 to row5, cola to cole, centre, edge, corner, home0, home1";

/// Returns the set with the rows in reverse order.
pub(super) fn mirrored(set: u32) -> u32 {
    cells(set).fold(0, |out, c| out | 1 << ((SIDE - 1 - c / SIDE) * SIDE + c % SIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbor_sets_are_unions_of_cell_neighbors() {
        for seed in 0..2_000u32 {
            let set = seed.wrapping_mul(0x9e37_79b9) & ALL;
            assert_eq!(grow4(set), cells(set).fold(0, |all, c| all | ADJ4[c]));
            assert_eq!(grow8(set), cells(set).fold(0, |all, c| all | ADJ8[c]));
        }
    }

    #[test]
    fn zone_names_resolve_to_cells() {
        assert_eq!(zone("row2"), Some(0x3e0));
        assert_eq!(names(zone("cole").unwrap_or(0)), "e1, e2, e3, e4, e5");
        assert_eq!(names(zone("corner").unwrap_or(0)), "a1, e1, a5, e5");
        assert_eq!(zone("edge").map(u32::count_ones), Some(16));
        assert_eq!(zone("centre"), cell("c3").map(|c| 1 << c));
        for wrong in ["row0", "row6", "row+1", "row11", "colf", "col", "cola1", "ALL", ""] {
            assert_eq!(zone(wrong), None, "{wrong}");
        }
        assert_eq!(
            (cell("a1"), cell("B1"), cell("e5"), cell("f1"), cell("a6"), cell("a")),
            (Some(0), Some(1), Some(24), None, None, None)
        );
        assert_eq!(mirrored(zone("home0").unwrap_or(0)), zone("home1").unwrap_or(0));
    }

    #[test]
    fn lines_of_each_length_have_expected_counts() {
        let count = |len, orth, diag| stretches(len, orth, diag).len();
        assert_eq!((count(4, true, false), count(4, false, true), count(3, true, true)), (20, 8, 48));
        assert_eq!((count(5, true, true), count(2, true, true)), (12, 72));
    }
}
