//! Divisions of tiles into sets and a pair.
//!
//! Each suit, and the honors, are divided separately: one group holds the pair, and all groups hold sets of three
//! tiles. The divisions of a hand are the combinations of the divisions of its groups.

use arrayvec::ArrayVec;

use super::hand::{Meld, MeldKind};
use super::heights::{GROUPS, Heights, ONES, total};
use super::tiles::{RANKS, SUITS, Tile};

/// Number of a set: kind plus one for a pung or kong, lowest kind plus [`CHOWS`] for a chow, 0 for no set.
pub(super) type Set = u8;

/// Offset from the lowest kind of a chow to its set number.
pub(super) const CHOWS: u8 = 35;

/// Packed set numbers, eight bits each; the first set is in the lowest bits.
type Sets = u64;

/// Divisions of a group into sets; twelve tiles have at most three divisions.
type Ways = ArrayVec<Sets, 4>;

/// A division of a hand into sets and a pair. Melds precede sets of standing tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandDivision {
    sets: Sets,
    number: u8,
    pub pair: Tile,
}

impl HandDivision {
    /// Returns four set numbers; missing sets are 0.
    pub fn sets(self) -> [Set; 4] {
        let [a, b, c, d, ..] = self.sets.to_le_bytes();
        [a, b, c, d]
    }

    /// Returns the number of sets.
    pub fn number(self) -> usize {
        self.number.into()
    }
}

/// Returns the set number of a meld.
pub(super) fn set(meld: Meld) -> Set {
    match meld.kind {
        MeldKind::Chi => CHOWS + meld.tile.saturating_sub(1),
        _ => 1 + meld.tile,
    }
}

/// Calls `found` with each division of the tiles into sets and a pair. Divisions are ordered by the kind of the pair,
/// then pungs before chows.
pub(super) fn readings(groups: &[Heights; GROUPS], melds: &[Meld], mut found: impl FnMut(HandDivision)) {
    let totals = groups.map(total);
    let standing = totals.iter().sum::<u32>() / 3;
    let laid = melds.len() as u32;
    let mut pairs = (0..GROUPS).filter(|&g| totals[g] % 3 == 2);
    let (Some(paired), None) = (pairs.next(), pairs.next()) else { return };
    if totals.iter().any(|n| n % 3 == 1) || laid + standing > 4 {
        return;
    }
    let mut ways: [Ways; GROUPS] = Default::default();
    for g in (0..GROUPS).filter(|&g| g != paired) {
        divide(groups[g], g, &mut ways[g]);
        if ways[g].is_empty() {
            return;
        }
    }
    let first = melds.iter().rev().fold(0, |all, &m| all << 8 | Sets::from(set(m)));
    for rank in pair_ranks(groups[paired], paired) {
        ways[paired].clear();
        divide(groups[paired] - (2 << (4 * rank)), paired, &mut ways[paired]);
        if ways[paired].is_empty() {
            continue;
        }
        let pair = (RANKS * paired) as Tile + rank as Tile;
        let [a, b, c, d] = &ways;
        let starts = [laid, laid + totals[0] / 3, laid + (totals[0] / 3) + totals[1] / 3];
        let last = starts[2] + totals[2] / 3;
        for a in a {
            for b in b {
                for c in c {
                    for d in d {
                        let sets = first | a << (8 * starts[0]) | b << (8 * starts[1]) | c << (8 * starts[2]);
                        found(HandDivision { sets: sets | d << (8 * last), number: (laid + standing) as u8, pair });
                    }
                }
            }
        }
    }
}

/// Returns true if the tiles of a group form sets, or sets and a pair.
pub(super) fn complete(heights: Heights, group: usize) -> bool {
    let mut ways = Ways::new();
    match total(heights) % 3 {
        0 => divide(heights, group, &mut ways),
        2 => pair_ranks(heights, group).for_each(|rank| divide(heights - (2 << (4 * rank)), group, &mut ways)),
        _ => {}
    }
    !ways.is_empty()
}

/// Returns the possible ranks of the pair, ascending. The ranks of a set add up to a multiple of three, so the sum of
/// all ranks determines the rank of the pair modulo three.
fn pair_ranks(heights: Heights, group: usize) -> impl Iterator<Item = u32> {
    const THIRD: Heights = 0x100_1001;
    let third = |k: u32| total((heights >> (4 * k)) & (15 * THIRD));
    let residue = 2 * (third(1) + 2 * third(2)) % 3;
    let ranks = if group == SUITS { ONES } else { THIRD << (4 * residue) };
    let mut pairs = (heights >> 1 | heights >> 2 | heights >> 3) & ranks;
    std::iter::from_fn(move || {
        let rank = (pairs != 0).then(|| pairs.trailing_zeros() / 4);
        pairs &= pairs.wrapping_sub(1);
        rank
    })
}

/// Collects all divisions of tiles into sets.
fn divide(heights: Heights, group: usize, ways: &mut Ways) {
    let first = (RANKS * group) as Tile;
    if group == SUITS { honors(heights, first, ways) } else { suit(heights, first, 0, 0, ways) }
}

/// Divides honors into sets; honors form only pungs.
fn honors(mut left: Heights, first: Tile, ways: &mut Ways) {
    let (mut sets, mut at) = (0, 0);
    while left != 0 {
        let low = left.trailing_zeros() / 4 * 4;
        if left >> low & 15 != 3 {
            return;
        }
        sets |= Sets::from(1 + first + (low / 4) as Tile) << at;
        left -= 3 << low;
        at += 8;
    }
    let _ = ways.try_push(sets);
}

/// Divides the remaining tiles of a suit, starting with rank `at`. Three tiles of a rank may form a pung; all others
/// start chows.
fn suit(left: Heights, first: Tile, sets: Sets, at: u32, ways: &mut Ways) {
    if left == 0 {
        let _ = ways.try_push(sets);
        return;
    }
    let low = left.trailing_zeros() / 4 * 4;
    let (held, kind) = (left >> low & 15, first + (low / 4) as Tile);
    let mut chows = |left: Heights, n: u64, sets: Sets, at: u32| {
        if n <= 4 && left >> (low + 4) & 15 >= n && left >> (low + 8) & 15 >= n {
            let each = Sets::from(CHOWS + kind) * (0x0101_0101 & ((1 << (8 * n)) - 1));
            suit(left - ((n * 0x111) << low), first, sets | each << at, at + 8 * n as u32, ways);
        }
    };
    if held >= 3 {
        chows(left - (3 << low), held - 3, sets | Sets::from(1 + kind) << at, at + 8);
    }
    chows(left, held, sets, at);
}
