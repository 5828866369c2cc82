//! Fans of two, three or four sets, and the rules for combining sets into fans.
//!
//! After some sets form a fan, each remaining set may be combined once with one of these sets. Combined sets form
//! groups. A fan of three or four sets creates one group, and a fan of two sets joins two groups. Two sets of the same
//! group form no further fan. Four chows therefore have at most three fans of two sets. A fourth chow adds at most
//! one fan of two sets to a fan of three chows.

use super::divide::{CHOWS, HandDivision, Set};
use super::fans::*;
use super::tiles::{RANKS, SUITS, Tile, family, rank, suited};

/// Fans of two sets. For each division, earlier fans are counted before later ones.
pub(super) const TWOS: [Fan; 5] =
    [DOUBLE_PUNG, PURE_DOUBLE_CHOW, MIXED_DOUBLE_CHOW, SHORT_STRAIGHT, TWO_TERMINAL_CHOWS];

/// Fans of combined sets: at most one fan of three or four sets, and the number of each fan of two sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Combined {
    pub main: Option<Fan>,
    pub twos: [u8; TWOS.len()],
}

impl Combined {
    fn points(&self) -> u32 {
        let main = self.main.map_or(0, |fan| FANS[fan].points);
        main + TWOS.iter().zip(self.twos).map(|(&fan, n)| FANS[fan].points * u32::from(n)).sum::<u32>()
    }
}

/// Returns the suit and the rank of a set; the suit of honors is 3.
const fn suit_and_rank(set: Set) -> (u8, u8) {
    let kind = if set >= CHOWS { set - CHOWS } else { set.saturating_sub(1) };
    let suit = kind / RANKS as u8;
    let suit = if suit < SUITS as u8 { suit } else { SUITS as u8 };
    (suit, kind - RANKS as u8 * suit)
}

/// Length of tables indexed by set number, a power of two.
const SETS: usize = 64;

/// Suit and rank of each set, by set number.
static SHAPES: [(u8, u8); SETS] = {
    let mut table = [(0, 0); SETS];
    let mut set = 0;
    while set < SETS {
        table[set] = suit_and_rank(set as Set);
        set += 1;
    }
    table
};

fn shape(set: Set) -> (u8, u8) {
    SHAPES[usize::from(set) % SETS]
}

/// Fan of each pair of sets, as an index in [`TWOS`] plus one; 0 for no fan.
static OF_TWO: [[u8; SETS]; SETS] = {
    let mut table = [[0; SETS]; SETS];
    let mut a = 1;
    while a < SETS {
        let mut b = 1;
        while b < SETS {
            table[a][b] = of_two(a as Set, b as Set);
            b += 1;
        }
        a += 1;
    }
    table
};

const fn of_two(a: Set, b: Set) -> u8 {
    let ((suit, rank), (other, last)) = (suit_and_rank(a), suit_and_rank(b));
    if (a >= CHOWS) != (b >= CHOWS) || suit > 2 || other > 2 {
        return 0;
    }
    match (a >= CHOWS, suit == other, rank.abs_diff(last)) {
        (false, false, 0) => 1,
        (true, true, 0) => 2,
        (true, false, 0) => 3,
        (true, true, 3) => 4,
        (true, true, 6) => 5,
        _ => 0,
    }
}

/// Returns the fan that four chows or four pungs form, if any.
fn of_four(sets: [Set; 4], pair: Tile) -> Option<Fan> {
    let mut suits = sets.map(|s| shape(s).0);
    let mut ranks = sets.map(|s| shape(s).1);
    let one_suit = suits.iter().all(|&s| s == suits[0]) && suits[0] < 3;
    let ends = ranks.iter().all(|r| r % 6 == 0);
    if !one_suit && !ends {
        return None;
    }
    suits.sort_unstable();
    ranks.sort_unstable();
    let rises = |step: u8| ranks.windows(2).all(|two| two[0] + step == two[1]);
    if sets[0] < CHOWS {
        return (one_suit && rises(1)).then_some(FOUR_PURE_SHIFTED_PUNGS);
    }
    if ranks == [0, 0, 6, 6] && suited(pair) && rank(pair) == 4 {
        let both = |suit: u8| {
            let of = |rank: u8| sets.iter().filter(|&&s| shape(s) == (suit, rank)).count();
            of(0) == 1 && of(6) == 1
        };
        let pair = family(pair) as u8;
        if one_suit && pair == suits[0] {
            return Some(PURE_TERMINAL_CHOWS);
        }
        if suits[0] != suits[3] && both(suits[0]) && both(suits[3]) && !suits.contains(&pair) {
            return Some(THREE_SUITED_TERMINAL_CHOWS);
        }
    }
    match () {
        () if !one_suit => None,
        () if rises(0) => Some(QUADRUPLE_CHOW),
        () if rises(1) || rises(2) => Some(FOUR_PURE_SHIFTED_CHOWS),
        () => None,
    }
}

/// Returns the fan that three chows or three pungs form, if any.
fn of_three(sets: [Set; 3]) -> Option<Fan> {
    let [(a, x), (b, y), (c, z)] = sets.map(shape);
    let one_suit = a == b && b == c;
    if a.max(b).max(c) > 2 || !one_suit && (a == b || b == c || a == c) {
        return None;
    }
    let (least, most) = (x.min(y).min(z), x.max(y).max(z));
    let middle = x + y + z - least - most;
    let step = middle - least;
    if most - middle != step {
        return None;
    }
    match (sets[0] >= CHOWS, one_suit, step) {
        (true, true, 0) => Some(PURE_TRIPLE_CHOW),
        (true, true, 3) => Some(PURE_STRAIGHT),
        (true, true, 1 | 2) => Some(PURE_SHIFTED_CHOWS),
        (true, false, 0) => Some(MIXED_TRIPLE_CHOW),
        (true, false, 3) => Some(MIXED_STRAIGHT),
        (true, false, 1) => Some(MIXED_SHIFTED_CHOWS),
        (false, true, 1) => Some(PURE_SHIFTED_PUNGS),
        (false, false, 0) => Some(TRIPLE_PUNG),
        (false, false, 1) => Some(MIXED_SHIFTED_PUNGS),
        _ => None,
    }
}

/// All pairs of indexes of four sets.
const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)];

/// Counts the fans of two sets, as indexed in [`TWOS`]. A fan counts only if its sets are in different groups, which it
/// then merges. `twos` holds the fan of each pair in [`PAIRS`], and `group` the initial group of each set.
fn joined(twos: [u8; 6], mut group: [u8; 4]) -> [u8; TWOS.len()] {
    let mut found = [0; TWOS.len()];
    let there = twos.iter().fold(0, |all, two| all | 1u8 << two);
    for (k, found) in found.iter_mut().enumerate().filter(|(k, _)| there >> (k + 1) & 1 == 1) {
        for (&(i, j), _) in PAIRS.iter().zip(twos).filter(|(_, two)| usize::from(*two) == k + 1) {
            let (old, new) = (group[j], group[i]);
            if old != new {
                group = group.map(|g| if g == old { new } else { g });
                *found += 1;
            }
        }
    }
    found
}

/// Returns the highest-scoring selection of fans of two or more sets; `pungs` is the number of pungs among the sets.
pub(super) fn combine(reading: HandDivision, pungs: usize) -> Combined {
    let sets = reading.sets();
    if pungs.is_multiple_of(4)
        && let Some(fan) = of_four(sets, reading.pair)
    {
        return Combined { main: Some(fan), ..Combined::default() };
    }
    let twos = PAIRS.map(|(i, j)| OF_TWO[usize::from(sets[i]) % SETS][usize::from(sets[j]) % SETS]);
    let joined = |group| if twos == [0; 6] { Default::default() } else { joined(twos, group) };
    let mut best = Combined { main: None, twos: joined([0, 1, 2, 3]) };
    if pungs == 2 {
        return best;
    }
    let chows = pungs < 2;
    for (a, b, c) in [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)] {
        let three = [sets[a], sets[b], sets[c]];
        if three.iter().any(|&s| (s >= CHOWS) != chows) {
            continue;
        }
        if let Some(fan) = of_three(three) {
            let mut group = [0, 1, 2, 3];
            (group[b], group[c]) = (a as u8, a as u8);
            let other = Combined { main: Some(fan), twos: joined(group) };
            if other.points() > best.points() {
                best = other;
            }
        }
    }
    best
}
