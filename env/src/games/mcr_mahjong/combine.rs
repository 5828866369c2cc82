//! Fans that are made of two, three or four sets, and which of them count together.
//!
//! After sets are combined to a fan, each other set may be combined once with one of those used. So sets that belong together
//! form groups: a fan of three or four sets makes one group of them, a fan of two sets joins two groups, and a pair of
//! sets within a group makes nothing further. Four chows thus have at most three fans of two, and a fourth chow beside a fan of
//! three has at most one.

use arrayvec::ArrayVec;

use super::divide::{Reading, Set};
use super::fans::*;
use super::hand::MELDS;
use super::tiles::{Tile, family, rank};

/// Fans made of sets: the one of three or four sets, and those of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Combined {
    pub main: Option<Fan>,
    pub pairs: ArrayVec<Fan, 3>,
}

impl Combined {
    fn points(&self) -> u32 {
        self.main.iter().chain(&self.pairs).map(|&fan| FANS[fan].points).sum()
    }
}

/// Ranks or suits in ascending order.
fn sorted<const N: usize>(mut all: [usize; N]) -> [usize; N] {
    all.sort_unstable();
    all
}

/// Whether the numbers rise by `step` each.
fn rises(all: &[usize], step: usize) -> bool {
    all.windows(2).all(|two| two[0] + step == two[1])
}

/// The fan of all four sets.
fn of_four(sets: [Set; 4], pair: Tile) -> Option<Fan> {
    let suits = sorted(sets.map(Set::suit));
    let ranks = sorted(sets.map(Set::rank));
    let one_suit = suits[0] == suits[3] && suits[0] < 3;
    if sets.iter().all(|s| !s.chow) {
        return (one_suit && rises(&ranks, 1)).then_some(FOUR_PURE_SHIFTED_PUNGS);
    }
    if !sets.iter().all(|s| s.chow) {
        return None;
    }
    if ranks == [0, 0, 6, 6] && rank(pair) == 4 && family(pair) < 3 {
        let both = |suit: usize| {
            let of = |rank: usize| sets.iter().filter(|s| s.suit() == suit && s.rank() == rank).count();
            of(0) == 1 && of(6) == 1
        };
        if one_suit && family(pair) == suits[0] {
            return Some(PURE_TERMINAL_CHOWS);
        }
        if suits[0] != suits[3] && both(suits[0]) && both(suits[3]) && !suits.contains(&family(pair)) {
            return Some(THREE_SUITED_TERMINAL_CHOWS);
        }
    }
    match ranks {
        _ if !one_suit => None,
        _ if rises(&ranks, 0) => Some(QUADRUPLE_CHOW),
        _ if rises(&ranks, 1) || rises(&ranks, 2) => Some(FOUR_PURE_SHIFTED_CHOWS),
        _ => None,
    }
}

/// The fan of three sets.
fn of_three(sets: [Set; 3]) -> Option<Fan> {
    let suits = sorted(sets.map(Set::suit));
    let ranks = sorted(sets.map(Set::rank));
    let all = |chow: bool| sets.iter().all(|s| s.chow == chow);
    if suits[2] > 2 {
        return None;
    }
    let one_suit = suits[0] == suits[2];
    if !one_suit && suits != [0, 1, 2] {
        return None;
    }
    match (all(true), one_suit) {
        (true, true) if rises(&ranks, 0) => Some(PURE_TRIPLE_CHOW),
        (true, true) if rises(&ranks, 3) && ranks[0] == 0 => Some(PURE_STRAIGHT),
        (true, true) if rises(&ranks, 1) || rises(&ranks, 2) => Some(PURE_SHIFTED_CHOWS),
        (true, false) if rises(&ranks, 0) => Some(MIXED_TRIPLE_CHOW),
        (true, false) if ranks == [0, 3, 6] => Some(MIXED_STRAIGHT),
        (true, false) if rises(&ranks, 1) => Some(MIXED_SHIFTED_CHOWS),
        (false, true) if all(false) && rises(&ranks, 1) => Some(PURE_SHIFTED_PUNGS),
        (false, false) if all(false) && rises(&ranks, 0) => Some(TRIPLE_PUNG),
        (false, false) if all(false) && rises(&ranks, 1) => Some(MIXED_SHIFTED_PUNGS),
        _ => None,
    }
}

/// The fan of two sets.
fn of_two(a: Set, b: Set) -> Option<Fan> {
    let (one_suit, apart) = (a.suit() == b.suit(), a.rank().abs_diff(b.rank()));
    if a.chow != b.chow || a.suit() > 2 || b.suit() > 2 {
        return None;
    }
    match (a.chow, one_suit, apart) {
        (true, true, 0) => Some(PURE_DOUBLE_CHOW),
        (true, false, 0) => Some(MIXED_DOUBLE_CHOW),
        (true, true, 3) => Some(SHORT_STRAIGHT),
        (true, true, 6) => Some(TWO_TERMINAL_CHOWS),
        (false, false, 0) => Some(DOUBLE_PUNG),
        _ => None,
    }
}

/// Fans of two sets that join groups, those that come first in the table before others.
fn pairs(sets: &[Set], mut group: [usize; MELDS]) -> ArrayVec<Fan, 3> {
    let mut found = ArrayVec::new();
    for wanted in [DOUBLE_PUNG, PURE_DOUBLE_CHOW, MIXED_DOUBLE_CHOW, SHORT_STRAIGHT, TWO_TERMINAL_CHOWS] {
        for (j, &b) in sets.iter().enumerate() {
            for (i, &a) in sets[..j].iter().enumerate() {
                if group[i] != group[j] && of_two(a, b) == Some(wanted) {
                    let (old, new) = (group[j], group[i]);
                    group.iter_mut().filter(|g| **g == old).for_each(|g| *g = new);
                    found.push(wanted);
                }
            }
        }
    }
    found
}

/// The best that the sets of a reading make together.
pub(super) fn combine(reading: &Reading) -> Combined {
    let sets = &reading.sets[..];
    if let &[a, b, c, d] = sets
        && let Some(fan) = of_four([a, b, c, d], reading.pair)
    {
        return Combined { main: Some(fan), pairs: ArrayVec::new() };
    }
    let mut best = Combined { main: None, pairs: pairs(sets, [0, 1, 2, 3]) };
    for c in 2..sets.len() {
        for b in 1..c {
            for a in 0..b {
                if let Some(fan) = of_three([sets[a], sets[b], sets[c]]) {
                    let group = std::array::from_fn(|k| if [a, b, c].contains(&k) { a } else { k });
                    let other = Combined { main: Some(fan), pairs: pairs(sets, group) };
                    if other.points() > best.points() {
                        best = other;
                    }
                }
            }
        }
    }
    best
}
