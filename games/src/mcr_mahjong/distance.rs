//! Distances of a hand from sets and a pair, computed for each suit by table lookup and then combined.
//!
//! A set is a chow or a pung. The distance of a suit is the number of tiles that it lacks for `m` sets (0 to 4), with
//! or without a pair. A target may contain a fifth tile of a kind; callers check the number of copies left.
//!
//! A [`DistanceEntry`] packs the distances of a suit. The low half of byte `m` is the distance without a pair, and the
//! high half is the distance with a pair. The table has an entry for each of the 405,350 hands of at most 14 tiles of a
//! suit with at most four of a kind (3.2 MB). The table is built on first use.

use std::sync::LazyLock;

use super::tiles::{Counts, KINDS, Kinds, RANKS, SUITS, WINDS};

/// Packed distances of one suit, or of all honors.
pub(super) type DistanceEntry = u64;

/// Maximum number of tiles in a hand.
const MOST: usize = 14;
/// Number of possible tile counts of a kind in a hand: 0 to 4.
const HEIGHTS: usize = 5;
/// Number of possible tile counts of a kind in a target: 0 to 6, where 6 is two pungs.
const USES: usize = 7;

/// Sixteen small numbers in one word: byte `m` is for `m` sets without a pair, byte `8 + m` for `m` sets with a pair.
type Lanes = u128;

const ONES: Lanes = 0x0101_0101_0101_0101_0101_0101_0101_0101;
const TOPS: Lanes = ONES << 7;
/// Distance of an unreachable target. The sum of this value and real distances stays below 128.
const FAR: u8 = 0x40;
/// Unreachable distances in all lanes.
const NOWHERE: Lanes = ONES * FAR as Lanes;
/// Distance 0 for no sets and no pair; all other lanes are unreachable.
const START: Lanes = NOWHERE - FAR as Lanes;
/// Mask of the lanes for more than four sets.
const BEYOND: Lanes = 0xffff_ff00_0000_0000_ffff_ff00_0000_0000;

/// Returns the minimum of each lane; all values must be below 128.
const fn min(a: Lanes, b: Lanes) -> Lanes {
    let greater = ((a | TOPS) - b) & TOPS;
    let mask = (greater - (greater >> 7)) | greater;
    (b & mask) | (a & !mask)
}

/// Moves each lane to the target with `sets` more sets, and with a pair if `pair` is true.
const fn shift_targets(v: Lanes, sets: usize, pair: bool) -> Lanes {
    let bits = 8 * sets as u32 + if pair { 64 } else { 0 };
    let moved = if bits == 0 { v } else { v << bits | NOWHERE >> (128 - bits) };
    moved & !BEYOND | NOWHERE & BEYOND
}

/// Lowest distances so far, by the number of tiles of the current kind in the target.
type Used = [Lanes; USES];

/// Returns the lowest distances for a hand with `held` tiles of the current kind.
fn with_held(used: &Used, held: usize) -> Lanes {
    let lacking = |u: usize| used[u] + ONES * u.saturating_sub(held) as Lanes;
    (1..USES).fold(lacking(0), |best, u| min(best, lacking(u)))
}

/// Packs lanes into an entry.
fn pack(v: Lanes) -> DistanceEntry {
    v as u64 & 0x0f_0f0f_0f0f | ((v >> 64) as u64 & 0x0f_0f0f_0f0f) << 4
}

/// Lowest distances before a rank. Index `3 * a + b` is for `a` chows that started two ranks earlier and `b` chows that
/// started one rank earlier (0 to 2 each).
type Open = [Lanes; 9];

/// Lookup tables for suits and honors.
struct Table {
    entries: Vec<DistanceEntry>,
    /// Increments of the index in `entries`. They are indexed by rank, by the number of tiles of lower ranks, and by
    /// the number of tiles of the rank.
    steps: [[[u32; HEIGHTS]; MOST + 1]; RANKS],
    /// Entries of honors, indexed by [`honors_index`].
    honors: Vec<DistanceEntry>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    fn new() -> Table {
        // Number of ways to complete a hand from a rank on, by the number of tiles of earlier ranks.
        let mut hands = [[0u32; MOST + 1]; RANKS + 1];
        hands[RANKS] = [1; MOST + 1];
        let mut steps = [[[0; HEIGHTS]; MOST + 1]; RANKS];
        for rank in (0..RANKS).rev() {
            for sum in 0..=MOST {
                for held in 0..HEIGHTS.min(MOST + 1 - sum) {
                    steps[rank][sum][held] = hands[rank][sum];
                    hands[rank][sum] += hands[rank + 1][sum + held];
                }
            }
        }
        let mut entries = Vec::with_capacity(hands[0][0] as usize);
        walk(0, 0, &NOTHING_OPEN, &mut entries);
        Table { entries, steps, honors: honors() }
    }
}

/// Extends all targets by one rank. The first index of the result is the index of [`Open`] for the next rank. The
/// second index is the number of tiles of this rank that the target uses.
fn targets(rank: usize, open: &Open) -> [Used; 9] {
    // A chow ends two ranks after the rank `at` at which it starts.
    let most = |at: usize| if at + 3 <= RANKS { 2 } else { 0 };
    let older = if rank >= 2 { most(rank - 2) } else { 0 };
    let old = if rank >= 1 { most(rank - 1) } else { 0 };
    let mut next = [[NOWHERE; USES]; 9];
    for (a, b, c) in (0..=older).flat_map(|a| (0..=old).flat_map(move |b| (0..=most(rank)).map(move |c| (a, b, c)))) {
        for (pungs, pair) in TARGETS {
            let used = a + b + c + 3 * pungs + 2 * usize::from(pair);
            if used < USES {
                let best = &mut next[3 * b + c][used];
                *best = min(*best, shift_targets(open[3 * a + b], c + pungs, pair));
            }
        }
    }
    next
}

/// Possible pungs and pairs in one kind: the number of pungs, and true if there is a pair.
const TARGETS: [(usize, bool); 5] = [(0, false), (0, true), (1, false), (1, true), (2, false)];

/// Distances before the first rank: no sets, no pair, and no open chows.
const NOTHING_OPEN: Open = {
    let mut open = [NOWHERE; 9];
    open[0] = START;
    open
};

/// Appends the entries of all hands that share the ranks processed so far.
fn walk(rank: usize, sum: usize, open: &Open, entries: &mut Vec<DistanceEntry>) {
    let next = targets(rank, open);
    for held in 0..HEIGHTS.min(MOST + 1 - sum) {
        if rank + 1 == RANKS {
            entries.push(pack(with_held(&next[0], held)));
        } else {
            let open = std::array::from_fn(|k| with_held(&next[k], held));
            walk(rank + 1, sum + held, &open, entries);
        }
    }
}

/// Computes the entry of a suit without the table, which has no hands with five tiles of a kind.
fn long_way(heights: &[u8]) -> DistanceEntry {
    let mut open = NOTHING_OPEN;
    for (rank, &held) in heights.iter().enumerate() {
        let next = targets(rank, &open);
        open = std::array::from_fn(|k| with_held(&next[k], held.into()));
    }
    pack(open[0])
}

/// Extends all targets by one kind of honor, of which the hand has `held` tiles.
fn honor(v: Lanes, held: usize) -> Lanes {
    let mut used = [NOWHERE; USES];
    TARGETS.iter().for_each(|&(pungs, pair)| used[3 * pungs + 2 * usize::from(pair)] = shift_targets(v, pungs, pair));
    with_held(&used, held)
}

/// Computes the entries of all hands of honors.
fn honors() -> Vec<DistanceEntry> {
    let entry = |index: usize| {
        let kinds = [index & 7, index >> 3 & 7, index >> 6 & 7, index >> 9];
        let none = 7usize.saturating_sub(kinds.iter().sum());
        let all = [none, kinds[0], kinds[1], kinds[2], kinds[3]];
        let v = all.iter().enumerate().fold(START, |v, (held, &n)| (0..n).fold(v, |v, _| honor(v, held)));
        pack(v)
    };
    (0..1 << 12).map(entry).collect()
}

/// Looks up the entry of a suit by its tile counts.
fn suit(heights: &[u8]) -> DistanceEntry {
    let (mut at, mut sum) = (0, 0);
    for (steps, &h) in TABLE.steps.iter().zip(heights) {
        at += steps[sum.min(MOST)][usize::from(h).min(HEIGHTS - 1)];
        sum += usize::from(h);
    }
    TABLE.entries.get(at as usize).copied().unwrap_or(0)
}

/// Looks up the entries of a suit with one more tile, by the rank of that tile. A rank with four tiles gets `None`.
fn one_more(heights: &[u8], found: &mut [Option<DistanceEntry>; RANKS]) {
    let table = &*TABLE;
    // The index sums the increments of earlier ranks, of this rank with one more tile, and of later ranks.
    let mut after = [0; RANKS + 1];
    let (mut sums, mut sum) = ([0; RANKS], 0usize);
    for (to, &h) in sums.iter_mut().zip(heights) {
        *to = sum.min(MOST - 1);
        sum += usize::from(h);
    }
    if sum >= MOST {
        return found.fill(None);
    }
    let step = |rank: usize, sum: usize, h: u8| table.steps[rank][sum][usize::from(h).min(HEIGHTS - 1)];
    for (rank, &h) in heights.iter().enumerate().rev() {
        after[rank] = after[rank + 1] + step(rank, sums[rank] + 1, h);
    }
    let mut before = 0;
    for (rank, (&h, to)) in heights.iter().zip(found).enumerate() {
        let at = before + step(rank, sums[rank], h + 1) + after[rank + 1];
        *to = (usize::from(h) + 1 < HEIGHTS).then(|| table.entries[at as usize]);
        before += step(rank, sums[rank], h);
    }
}

/// Unpacked distances without and with a pair. Byte `m` is the distance to `m` sets.
#[derive(Clone, Copy)]
struct Lack {
    without: u64,
    with: u64,
}

/// Mask of the bytes that a [`Lack`] uses.
const SETS: u64 = 0xff_ffff_ffff;
const FAR_LANES: u64 = 0x0101_0101_0101_0101 * FAR as u64;

const fn low(a: u64, b: u64) -> u64 {
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let greater = ((a | TOPS) - b) & TOPS;
    let mask = (greater - (greater >> 7)) | greater;
    (b & mask) | (a & !mask)
}

impl Lack {
    const fn of(entry: DistanceEntry) -> Lack {
        Lack { without: entry & 0x0f_0f0f_0f0f, with: entry >> 4 & 0x0f_0f0f_0f0f }
    }

    /// Returns the distances of two groups together, for up to `most` sets.
    fn and(self, other: Lack, most: usize) -> Lack {
        let mut sum = Lack { without: FAR_LANES, with: FAR_LANES };
        let far = FAR_LANES & SETS;
        for m in 0..=most {
            let splat = |v: u64| (v >> (8 * m) & 0xff) * 0x01_0101_0101;
            let moved = |v: u64| (v << (8 * m) | far & ((1 << (8 * m)) - 1)) & SETS;
            let (plain, paired) = (moved(other.without), moved(other.with));
            sum.without = low(sum.without, plain + splat(self.without));
            sum.with = low(sum.with, paired + splat(self.without));
            sum.with = low(sum.with, plain + splat(self.with));
        }
        sum
    }

    /// Returns the distance to `sets` sets and a pair.
    const fn to_pair(self, sets: usize) -> u8 {
        (self.with >> (8 * sets)) as u8
    }

    /// Reorders the distances for a total of `sets` sets and a pair. Byte `m` of the result is the distance of this
    /// group if the other groups form `m` sets.
    fn missing(self, sets: usize) -> Lack {
        let turned = |v: u64| v.swap_bytes() >> (8 * (7 - sets)) | FAR_LANES << (8 * sets) << 8;
        Lack { without: turned(self.with), with: turned(self.without) }
    }

    /// Returns true if the whole hand is less than `distance` tiles from its target. `missing` holds the distances of
    /// the other groups, as returned by [`missing`](Lack::missing).
    const fn nearer(self, missing: Lack, distance: u8) -> bool {
        const TOPS: u64 = 0x8080_8080_8080_8080;
        let bar = 0x0101_0101_0101_0101 * (0x80 - distance as u64);
        let (plain, paired) = (self.without + missing.without + bar, self.with + missing.with + bar);
        !(plain & paired) & TOPS & SETS != 0
    }
}

/// Returns the index of honors in the table, from the number of kinds held once, twice, three and four times.
fn honors_index(honors: &[u8]) -> usize {
    honors.iter().filter(|&&h| h > 0).map(|&h| 1 << (3 * (usize::from(h).min(4) - 1))).sum()
}

/// Tiles of a hand by group: three suits and the honors.
pub(super) struct Groups<'a> {
    counts: &'a Counts,
    lacks: [Lack; SUITS + 1],
}

impl<'a> Groups<'a> {
    pub fn new(counts: &'a Counts) -> Self {
        let honors = TABLE.honors.get(honors_index(&counts[WINDS..])).copied().unwrap_or(0);
        let entry = |k: usize| if k < SUITS { suit(&counts[RANKS * k..RANKS * (k + 1)]) } else { honors };
        Groups { counts, lacks: std::array::from_fn(|k| Lack::of(entry(k))) }
    }

    /// Returns the number of tiles that the hand lacks for `sets` (0 to 4) sets and a pair.
    pub fn distance(&self, sets: usize) -> u8 {
        let [a, b, c, d] = self.lacks;
        a.and(b, sets).and(c.and(d, sets), sets).to_pair(sets)
    }

    /// Returns the kinds whose draw decreases `distance`, the distance of the hand to `sets` sets and a pair. A fifth
    /// tile of a kind is considered only if the hand is ready.
    pub fn useful(&self, sets: usize, distance: u8) -> Kinds {
        let [a, b, c, d] = self.lacks;
        let (ab, cd) = (a.and(b, sets), c.and(d, sets));
        let others = [b.and(cd, sets), a.and(cd, sets), ab.and(d, sets), ab.and(c, sets)];
        let mut bits = 0u64;
        let mut more = [None; RANKS];
        for (k, other) in others[..SUITS].iter().enumerate() {
            let missing = other.missing(sets);
            one_more(&self.counts[RANKS * k..RANKS * (k + 1)], &mut more);
            for (rank, entry) in more.iter().enumerate() {
                let nearer = entry.is_some_and(|e| Lack::of(e).nearer(missing, distance));
                bits |= u64::from(nearer) << (RANKS * k + rank);
            }
        }
        let honors = &self.counts[WINDS..];
        let (missing, index) = (others[SUITS].missing(sets), honors_index(honors));
        let mut by_height = [None; HEIGHTS];
        for (k, &h) in honors.iter().enumerate().filter(|(_, h)| usize::from(**h) < HEIGHTS - 1) {
            let h = usize::from(h);
            let nearer = *by_height[h].get_or_insert_with(|| {
                let less = if h > 0 { 1 << (3 * (h - 1)) } else { 0 };
                let entry = TABLE.honors.get(index - less + (1 << (3 * h))).copied();
                entry.is_some_and(|e| Lack::of(e).nearer(missing, distance))
            });
            bits |= u64::from(nearer) << (WINDS + k);
        }
        if distance == 1 {
            bits |= self.fifth(sets, &others);
        }
        Kinds(bits)
    }

    /// Returns the kinds with four tiles whose fifth tile would complete the hand.
    fn fifth(&self, sets: usize, others: &[Lack; SUITS + 1]) -> u64 {
        let full = (0..KINDS).filter(|&k| usize::from(self.counts[k]) == HEIGHTS - 1);
        full.fold(0, |bits, k| {
            let mut counts = *self.counts;
            counts[k] += 1;
            let group = (k / RANKS).min(SUITS);
            let entry = if group < SUITS {
                long_way(&counts[RANKS * group..RANKS * (group + 1)])
            } else {
                pack(counts[WINDS..].iter().fold(START, |v, &held| honor(v, held.into())))
            };
            bits | u64::from(Lack::of(entry).nearer(others[group].missing(sets), 1)) << k
        })
    }
}
