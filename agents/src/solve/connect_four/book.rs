//! The opening book: the move of every early position that the solver can come to, against any opponent.
//!
//! `cargo run --release -p ludex-agents --example connect_four_book > agents/src/solve/connect_four/book.bin` makes it. Every
//! entry is four bytes, little-endian, sorted: eight times the position's number in base 3 (`ternary`, the smaller of the position and its
//! mirror image) plus the column to play.

use std::collections::BTreeMap;

use super::board::{COLUMNS, Position, column};
use super::search::{Search, first, ordered};

/// The last ply in the book.
pub(super) const LAST: u32 = 12;
/// Slots of the table that makes the book: a prime, 1 GiB of memory.
const SLOTS: usize = 134_217_689;

static BOOK: &[u8] = include_bytes!("book.bin");

/// The cell to play, if the book knows the position.
pub(super) fn find(p: Position) -> Option<u64> {
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

/// The number of the position or of its mirror image, the smaller; whether it is that of the image.
fn number(p: Position) -> (u32, bool) {
    let (straight, mirrored) = (p.ternary(), p.mirrored().ternary());
    (straight.min(mirrored) as u32, mirrored < straight)
}

/// Solves the opening: minutes of one core.
pub fn make() -> Vec<u8> {
    let (mut search, mut book) = (Search::sized(SLOTS, u64::MAX), BTreeMap::new());
    for seat in [0, 1] {
        walk(Position::default(), seat, &mut search, &mut book);
    }
    book.into_iter().flat_map(|(number, column)| (number << 3 | column).to_le_bytes()).collect()
}

/// Notes the moves of the solver in the given seat from `p` on.
fn walk(p: Position, seat: u32, search: &mut Search, book: &mut BTreeMap<u32, u32>) {
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
