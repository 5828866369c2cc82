//! Waiting tiles: the kinds that complete a ready hand. A table lists the complete hands of a suit.

use std::sync::LazyLock;

use super::divide::complete;
use super::heights::{GROUPS, Heights, ONES, place, total};
use super::tiles::{COPIES, RANKS, SUITS, Tile};

/// Index increment for one tile of each rank: powers of five.
const FIVES: [u32; RANKS] = {
    let mut all = [1; RANKS];
    let mut rank = 1;
    while rank < RANKS {
        all[rank] = 5 * all[rank - 1];
        rank += 1;
    }
    all
};
/// Number of hands of one suit with at most four tiles of each rank.
const SUIT_HANDS: usize = 5usize.pow(RANKS as u32);

/// Bit set of complete hands of one suit (244 KB). These have at most four sets, an optional pair, and at most four
/// tiles of each rank.
static COMPLETE: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut all = vec![0; SUIT_HANDS.div_ceil(64)];
    add(&mut all, 0, 0, 4);
    for rank in 0..RANKS {
        add(&mut all, 2 << (4 * rank), 0, 4);
    }
    all
});

/// Adds to `all` the hand `heights`, and this hand with up to `more` additional sets. Only sets from number `set` on
/// are added, where 0 to 8 are pungs and 9 to 15 chows.
fn add(all: &mut [u64], heights: Heights, set: usize, more: u32) {
    let at = index(heights) as usize;
    all[at / 64] |= 1 << (at % 64);
    if more == 0 {
        return;
    }
    for next in set..2 * RANKS - 2 {
        let tiles = if next < RANKS { 3 << (4 * next) } else { 0x111 << (4 * (next - RANKS)) };
        let sum = heights + tiles;
        if !too_high(sum) {
            add(all, sum, next, more - 1);
        }
    }
}

/// Returns true if any rank has more than four tiles. Counts above seven are not supported.
const fn too_high(heights: Heights) -> bool {
    heights >> 2 & (heights | heights >> 1) & ONES != 0
}

fn index(heights: Heights) -> u32 {
    FIVES.iter().enumerate().map(|(rank, five)| (heights >> (4 * rank) & 15) as u32 * five).sum()
}

/// Returns the ranks that complete a group with one more tile, one bit each. Ranks that already have four tiles are
/// included.
fn ranks(heights: Heights, group: usize) -> u64 {
    let height = |rank: usize| heights >> (4 * rank) & 15;
    let by_hand = |rank: usize| complete(heights + (1 << (4 * rank)), group);
    if group == SUITS {
        return (0..RANKS - 2).filter(|&rank| by_hand(rank)).fold(0, |all, rank| all | 1 << rank);
    }
    let (table, at) = (&*COMPLETE, index(heights));
    let with = |rank: usize| {
        let at = (at + FIVES[rank]) as usize;
        table.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    };
    let fits = |rank: usize| if height(rank) < u64::from(COPIES) { with(rank) } else { by_hand(rank) };
    (0..RANKS).fold(0, |all, rank| all | u64::from(fits(rank)) << rank)
}

/// Returns the kinds that complete the standing tiles to sets and a pair, one bit each; `win` must be among them.
/// Kinds that already have four tiles are included.
pub(super) fn waiting_tiles(standing: &[Heights; GROUPS], win: Tile) -> u64 {
    let (group, _) = place(win);
    let of = |g: usize| ranks(standing[g], g) << (RANKS * g);
    let all = of(group);
    // If two groups have 3n + 2 tiles, each waits for a tile if the other forms sets and the pair.
    if total(standing[group]) % 3 == 1 {
        return all;
    }
    let other = (0..GROUPS).find(|&g| g != group && total(standing[g]) % 3 == 2);
    let paired = complete(standing[group], group);
    all | other.filter(|_| paired).map_or(0, of)
}
