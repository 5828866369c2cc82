//! Tile counts of a suit, or of the honors, packed into one number.

use super::tiles::{Counts, KINDS, Kinds, RANKS, SUITS, Tile, WINDS};

/// Number of tiles of each rank, four bits per rank; the first rank is in the lowest bits.
pub(super) type Heights = u64;

/// Number of groups: three suits and the honors.
pub(super) const GROUPS: usize = SUITS + 1;

/// One tile of each of nine ranks.
pub(super) const ONES: Heights = 0x1_1111_1111;

/// Returns the group of a kind, and the position of the kind's lowest bit in the heights.
pub(super) const fn place(tile: Tile) -> (usize, u32) {
    let group = tile as usize / RANKS;
    let group = if group < SUITS { group } else { SUITS };
    (group, 4 * (tile as usize - RANKS * group) as u32)
}

/// Returns the heights of all groups; each count is taken modulo 16.
pub(super) fn heights(counts: &Counts) -> [Heights; GROUPS] {
    let of = |tiles: &[u8]| tiles.iter().rev().fold(0, |all, &n| all << 4 | Heights::from(n & 15));
    let (suits, honors) = counts.split_at(WINDS);
    let (low, high) = suits.split_at(2 * RANKS);
    let (first, second) = low.split_at(RANKS);
    [of(first), of(second), of(high), of(honors)]
}

/// Returns the total number of tiles, which must be at most 15.
pub(super) const fn total(heights: Heights) -> u32 {
    (heights.wrapping_mul(ONES) >> 32 & 15) as u32
}

/// Returns one bit for each rank with at least one tile.
const fn ranks(heights: Heights) -> u64 {
    let each = (heights | heights >> 1 | heights >> 2 | heights >> 3) & ONES;
    let each = (each | each >> 3) & 0x3_0303_0303;
    let each = (each | each >> 6) & 0x1_000f_000f;
    let each = (each | each >> 12) & 0x1_0000_00ff;
    (each | each >> 24) & 0x1ff
}

/// Returns the kinds with at least one tile.
pub(super) fn kinds(groups: &[Heights; GROUPS]) -> Kinds {
    let bits = groups.iter().enumerate().fold(0, |all, (g, &h)| all | ranks(h) << (RANKS * g));
    Kinds(bits & ((1 << KINDS) - 1))
}
