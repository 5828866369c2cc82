//! Opening book of the solver: one move for every early position that can occur when the solver plays, against any
//! opponent.
//!
//! Created by `cargo run --release -p ludex-agents --example tables -- connect_four`. Entries are sorted and have four
//! bytes, little-endian: eight times the position's number, plus the column to play. The number is the smaller base-3
//! number (`ternary`) of the position and its mirror image.

use std::collections::BTreeMap;

use super::board::{BitBoard, COLUMNS, column};
use super::search::{Search, first, ordered};

/// Last ply that the book covers.
pub(super) const LAST: u32 = 12;
/// Number of table slots when the book is created; a prime. The table takes 1 GiB of memory.
const SLOTS: usize = 134_217_689;

static BOOK: &[u8] = include_bytes!("book.bin");

/// Returns the cell of the book's move; `None` if the position is not in the book.
pub(super) fn find(p: BitBoard) -> Option<u64> {
    if p.ply > LAST {
        return None;
    }
    let (number, mirrored) = number(p);
    let entry = |i: usize| BOOK.get(4 * i..4 * i + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    let (mut low, mut high) = (0, BOOK.len() / 4);
    while low < high {
        let middle = low.midpoint(high);
        if entry(middle) >> 3 < number { low = middle + 1 } else { high = middle }
    }
    let found = Some(entry(low)).filter(|_| low < BOOK.len() / 4).filter(|e| e >> 3 == number)?;
    let column = found & 7;
    Some(p.cell(if mirrored { COLUMNS - 1 - column } else { column }))
}

/// Returns the smaller of the base-3 numbers of the position and of its mirror image, and true if the mirror image has
/// the smaller number.
fn number(p: BitBoard) -> (u32, bool) {
    let (straight, mirrored) = (p.ternary(), p.mirrored().ternary());
    (straight.min(mirrored) as u32, mirrored < straight)
}

/// Solves the opening and returns the book. Takes about seven minutes on one core.
pub fn generate() -> Vec<u8> {
    let (mut search, mut book) = (Search::sized(SLOTS, u64::MAX), BTreeMap::new());
    for seat in [0, 1] {
        walk(BitBoard::default(), seat, &mut search, &mut book);
    }
    book.into_iter().flat_map(|(number, column)| (number << 3 | column).to_le_bytes()).collect()
}

/// Adds the solver's moves to the book for all positions that can follow `p` if the solver plays `seat`.
fn walk(p: BitBoard, seat: u32, search: &mut Search, book: &mut BTreeMap<u32, u32>) {
    if p.ply > LAST || p.wins() != 0 || p.safe() == 0 {
        return;
    }
    if p.ply % 2 != seat {
        let (moves, count) = ordered(p, p.open());
        moves[..count].iter().for_each(|&cell| walk(p.after(cell), seat, search, book));
        return;
    }
    let (number, mirrored) = number(p);
    if book.contains_key(&number) {
        return;
    }
    let cell = first(p, search).flatten().unwrap_or(ordered(p, p.safe()).0[0]);
    let at = column(cell);
    book.insert(number, if mirrored { COLUMNS - 1 - at } else { at });
    walk(p.after(cell), seat, search, book);
}
