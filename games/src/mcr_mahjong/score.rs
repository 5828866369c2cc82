//! Scores of hands. The score of a hand is the maximum over all of its divisions.

use std::cell::OnceCell;

use super::combine::{TWOS, combine};
use super::divide::{CHOWS, HandDivision, Set, readings};
use super::fans::*;
use super::hand::{Edition, Flags, Hand, MeldKind};
use super::heights::{self, GROUPS, Heights, ONES, heights, place};
use super::tiles::{DRAGONS, HONORS, KINDS, Kinds, RANKS, SUITS, TERMINALS, Tile, WINDS, knitted, suited};
use super::waiting::waiting_tiles;

/// A set of fans, one bit each.
type Fans = u128;

const fn bit(fan: Fan) -> Fans {
    1 << fan
}

const fn bits(fans: &[Fan]) -> Fans {
    let (mut all, mut k) = (0, 0);
    while k < fans.len() {
        all |= bit(fans[k]);
        k += 1;
    }
    all
}

/// Fans that combine two sets. Fans of three or four sets do not exclude them, because [`combine`] already avoids
/// counting a set twice.
const OF_TWO: Fans = bits(&[DOUBLE_PUNG, PURE_DOUBLE_CHOW, MIXED_DOUBLE_CHOW, SHORT_STRAIGHT, TWO_TERMINAL_CHOWS]);
/// Fans that combine three or four sets.
const OF_MORE: Fans = bits(&[
    PURE_TERMINAL_CHOWS,
    QUADRUPLE_CHOW,
    FOUR_PURE_SHIFTED_PUNGS,
    FOUR_PURE_SHIFTED_CHOWS,
    PURE_TRIPLE_CHOW,
    PURE_SHIFTED_PUNGS,
    PURE_STRAIGHT,
    THREE_SUITED_TERMINAL_CHOWS,
    PURE_SHIFTED_CHOWS,
    TRIPLE_PUNG,
    MIXED_STRAIGHT,
    MIXED_TRIPLE_CHOW,
    MIXED_SHIFTED_PUNGS,
    MIXED_SHIFTED_CHOWS,
]);

/// Fans that each fan excludes, by edition.
static EXCLUDED: [[Fans; ROWS]; 2] = {
    let mut table = [[0; ROWS]; 2];
    let mut fan = 0;
    while fan < ROWS {
        let all = bits(FANS[fan].excludes);
        table[0][fan] = if OF_MORE >> fan & 1 == 1 { all & !OF_TWO } else { all };
        table[1][fan] = table[0][fan];
        fan += 1;
    }
    let mut k = 0;
    while k < STRICT98.len() {
        table[1][STRICT98[k].0] |= bits(STRICT98[k].1);
        k += 1;
    }
    table
};

/// Fans that allow only certain kinds of tiles, each with its allowed kinds.
const MADE_OF: &[(Fan, Kinds)] = &[
    (ALL_GREEN, Kinds::of(&[19, 20, 21, 23, 25, 32])),
    (ALL_TERMINALS, TERMINALS),
    (ALL_HONORS, HONORS),
    (UPPER_TILES, ranks(6, 8)),
    (MIDDLE_TILES, ranks(3, 5)),
    (LOWER_TILES, ranks(0, 2)),
    (UPPER_FOUR, ranks(5, 8)),
    (LOWER_FOUR, ranks(0, 3)),
    (REVERSIBLE_TILES, Kinds::of(&[9, 10, 11, 12, 13, 16, 17, 19, 21, 22, 23, 25, 26, 33])),
    (ALL_SIMPLES, ranks(1, 7)),
    (NO_HONORS, ranks(0, 8)),
];

/// The table [`MADE_OF`] with fans as bits.
static MADE: [(Fans, Kinds); MADE_OF.len()] = {
    let mut all = [(0, Kinds(0)); MADE_OF.len()];
    let mut k = 0;
    while k < all.len() {
        all[k] = (bit(MADE_OF[k].0), MADE_OF[k].1);
        k += 1;
    }
    all
};

const ORPHANS: Kinds = Kinds(HONORS.0 | TERMINALS.0);

/// Returns the kinds of ranks `low` to `high` in all suits.
const fn ranks(low: usize, high: usize) -> Kinds {
    let one: u64 = ((1 << (high - low + 1)) - 1) << low;
    Kinds(one | one << RANKS | one << (2 * RANKS))
}

/// The fans of a winning hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    tally: Tally,
    /// Total points without flowers.
    pub points: u32,
    /// Number of flowers, one point each.
    pub flowers: u8,
}

impl Score {
    /// Returns the total points including flowers.
    pub fn total(&self) -> u32 {
        self.points + u32::from(self.flowers)
    }

    /// Returns the number of times that a fan counts.
    pub fn count(&self, fan: Fan) -> u8 {
        match fan {
            FLOWER_TILES => self.flowers,
            _ if fan < ROWS => self.tally.count(fan),
            _ => 0,
        }
    }

    /// Iterates over fan numbers and counts: highest points first, then by number; flowers come last.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (Fan, u8)> {
        let mut all: Vec<Fan> = each(self.tally.held).collect();
        all.sort_by_key(|&fan| (std::cmp::Reverse(FANS[fan].points), fan));
        all.extend((self.flowers > 0).then_some(FLOWER_TILES));
        all.into_iter().map(|fan| (fan, self.count(fan)))
    }

    /// Iterates over points per occurrence, count and name. The highest points come first, and flowers come last.
    pub fn fans(&self) -> impl Iterator<Item = (u32, u8, &'static str)> {
        self.numbers().map(|(fan, count)| (FANS[fan].points, count, FANS[fan].name))
    }
}

fn each(fans: Fans) -> impl Iterator<Item = Fan> {
    let mut left = fans;
    std::iter::from_fn(move || {
        let next = (left != 0).then(|| left.trailing_zeros() as Fan);
        left &= left.wrapping_sub(1);
        next
    })
}

/// Fans that apply to a hand, with their counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    held: Fans,
    /// Occurrences of each repeatable fan beyond the first, four bits each, starting at [`FIRST_COUNTED`].
    more: u64,
}

/// First repeatable fan. The numbers of all repeatable fans are in a range of [`COUNTED`] numbers that starts here.
const FIRST_COUNTED: Fan = DRAGON_PUNG;
const COUNTED: usize = 16;

impl Tally {
    /// Adds a fan to a tally that does not contain it yet.
    #[inline]
    fn add_times(&mut self, fan: Fan, times: u32) {
        if times > 0 {
            self.held |= bit(fan);
            if (FIRST_COUNTED..FIRST_COUNTED + COUNTED).contains(&fan) {
                self.more |= u64::from(times - 1) << (4 * (fan - FIRST_COUNTED));
            }
        }
    }

    #[inline]
    fn add(&mut self, fan: Fan) {
        self.held |= bit(fan);
    }

    #[inline]
    fn add_if(&mut self, holds: bool, fan: Fan) {
        self.held |= if holds { bit(fan) } else { 0 };
    }

    /// Returns the number of times that a fan applies.
    fn count(&self, fan: Fan) -> u8 {
        match fan.checked_sub(FIRST_COUNTED).filter(|&at| at < COUNTED) {
            _ if self.held & bit(fan) == 0 => 0,
            Some(at) => 1 + (self.more >> (4 * at) & 15) as u8,
            None => 1,
        }
    }

    /// Removes excluded fans; returns the tally and its points. An excluded fan does not exclude other fans.
    fn settle(mut self, excluded: &[Fans; ROWS]) -> (Tally, u32) {
        let (mut left, mut points) = (self.held, 0);
        while left != 0 {
            let fan = left.trailing_zeros() as Fan;
            left &= left - 1;
            left &= !excluded[fan];
            self.held &= !excluded[fan];
            points += u32::from(POINTS[fan]);
        }
        if self.held == 0 {
            self.add(CHICKEN_HAND);
            points = u32::from(POINTS[CHICKEN_HAND]);
        }
        let mut more = self.more;
        while more != 0 {
            let at = more.trailing_zeros() as Fan / 4;
            let fan = FIRST_COUNTED + at;
            if self.held & bit(fan) != 0 {
                points += u32::from(POINTS[fan]) * (more >> (4 * at) & 15) as u32;
            }
            more &= !(15 << (4 * at));
        }
        (self, points)
    }
}

/// Points of each fan in a compact array.
static POINTS: [u8; ROWS] = {
    let mut all = [0; ROWS];
    let mut fan = 0;
    while fan < ROWS {
        all[fan] = FANS[fan].points as u8;
        fan += 1;
    }
    all
};

/// Bit offsets of set properties. Each property has four bits, so that the values of a hand's sets can be added.
mod about {
    pub const PUNGS: u32 = 0;
    pub const WINDS: u32 = 4;
    pub const DRAGONS: u32 = 8;
    pub const ENDS: u32 = 12;
    /// Pungs of even ranks.
    pub const EVEN: u32 = 16;
    /// Sets with a terminal or honor.
    pub const OUTSIDE: u32 = 20;
    /// Sets with a five.
    pub const FIVES: u32 = 24;
}

/// Properties of each set, by set number. A pair has the properties of a pung of its kind.
static ABOUT: [u32; 64] = {
    let mut all = [0; 64];
    let mut kind = 0;
    while kind < KINDS {
        let rank = kind % RANKS;
        let suited = kind < WINDS;
        let end = suited && rank.is_multiple_of(8);
        all[kind + 1] = 1
            | ((!suited && kind < DRAGONS) as u32) << about::WINDS
            | ((kind >= DRAGONS) as u32) << about::DRAGONS
            | (end as u32) << about::ENDS
            | ((suited && rank % 2 == 1) as u32) << about::EVEN
            | ((end || !suited) as u32) << about::OUTSIDE
            | ((suited && rank == 4) as u32) << about::FIVES;
        if suited && rank < RANKS - 2 {
            let (outside, five) = (rank == 0 || rank == 6, rank >= 2 && rank <= 4);
            all[kind + CHOWS as usize] = (outside as u32) << about::OUTSIDE | (five as u32) << about::FIVES;
        }
        kind += 1;
    }
    all
};

fn about(set: Set) -> u32 {
    ABOUT[usize::from(set) % ABOUT.len()]
}

/// Properties of a hand that do not depend on its division.
struct Whole<'a> {
    hand: &'a Hand,
    flags: Flags,
    /// Standing tiles without the winning tile.
    standing: [Heights; GROUPS],
    /// Kinds of all tiles in the hand.
    kinds: Kinds,
    /// Number of concealed kongs.
    concealed: u8,
    tally: Tally,
    /// True if only one kind completes the hand; computed on first use.
    one_wait: OnceCell<bool>,
}

impl Whole<'_> {
    fn of(hand: &Hand, edition: Edition) -> Whole<'_> {
        let flags = hand.flags;
        let standing = heights(&hand.standing);
        let mut all = with(&standing, hand.win);
        let mut tally = Tally::default();
        let (mut claimed, mut kongs, mut concealed) = (0, 0, 0);
        for meld in &hand.melds {
            let (group, at) = place(meld.tile);
            claimed += u8::from(meld.kind != MeldKind::Angang);
            concealed += u8::from(meld.kind == MeldKind::Angang);
            kongs += u8::from(meld.kong());
            // The fourth tile of a kong is not counted, so a kong is not a Tile Hog.
            all[group] += if meld.kind == MeldKind::Chi { 0x111 << at >> 4 } else { 3 << at };
        }
        let kinds = heights::kinds(&all);
        let families = [0x1ff, 0x1ff << RANKS, 0x1ff << (2 * RANKS), 0xf << WINDS, 0x7 << DRAGONS];
        let families = families.map(|f: u64| kinds.0 & f != 0);
        let suits = families[..SUITS].iter().filter(|held| **held).count();
        let honors = families[3] || families[4];
        tally.held |= MADE.iter().fold(0, |held, &(fan, of)| held | if kinds.is_subset_of(of) { fan } else { 0 });
        let both = kinds.0 & HONORS.0 != 0 && kinds.0 & TERMINALS.0 != 0;
        tally.add_if(both && kinds.is_subset_of(ORPHANS), ALL_TERMINALS_AND_HONORS);
        tally.add_if(suits == 1 && !honors, FULL_FLUSH);
        tally.add_if(suits == 1 && honors, HALF_FLUSH);
        tally.add_if(suits == 2, ONE_VOIDED_SUIT);
        tally.add_if(families == [true; 5], ALL_TYPES);
        tally.add_times(TILE_HOG, all.iter().map(|h| (h >> 2 & !(h >> 1) & !h & ONES).count_ones()).sum());
        let melded = kongs - concealed;
        match (melded, concealed) {
            (0, 0) => {}
            _ if kongs == 4 => tally.add(FOUR_KONGS),
            _ if kongs == 3 => tally.add(THREE_KONGS),
            (2, 0) => tally.add(TWO_MELDED_KONGS),
            (0, 2) => tally.add(TWO_CONCEALED_KONGS),
            (1, 1) if edition == Edition::Strict98 => {
                tally.add(CONCEALED_KONG);
                tally.add(MELDED_KONG);
            }
            (1, 1) => tally.add(MIXED_KONGS),
            (1, _) => tally.add(MELDED_KONG),
            _ => tally.add(CONCEALED_KONG),
        }
        let drawn = flags.self_drawn;
        tally.add_if(drawn, SELF_DRAWN);
        tally.add_if(claimed == 0 && drawn, FULLY_CONCEALED_HAND);
        tally.add_if(claimed == 0 && !drawn, CONCEALED_HAND);
        tally.add_if(claimed == 4 && !drawn, MELDED_HAND);
        tally.add_if(flags.wall_last && drawn, LAST_TILE_DRAW);
        tally.add_if(flags.wall_last && !drawn, LAST_TILE_CLAIM);
        tally.add_if(flags.about_kong && drawn, OUT_WITH_REPLACEMENT_TILE);
        tally.add_if(flags.about_kong && !drawn, ROBBING_THE_KONG);
        tally.add_if(flags.fourth_tile, LAST_TILE);
        tally.add_if(hand.melds.is_empty() && standing[..SUITS].contains(&GATES), NINE_GATES);
        Whole { hand, flags, standing, kinds, concealed, tally, one_wait: OnceCell::new() }
    }

    /// Returns true if only one kind completes the hand as four sets and a pair, or as seven pairs.
    fn one_wait(&self) -> bool {
        *self.one_wait.get_or_init(|| {
            let mut all = waiting_tiles(&self.standing, self.hand.win);
            if self.hand.melds.is_empty() {
                let odd = self.standing.map(|h| h & ONES);
                // Six pairs and a single tile wait for a second copy of this tile.
                if odd.iter().map(|o| o.count_ones()).sum::<u32>() == 1 {
                    all |= heights::kinds(&odd).0;
                }
            }
            all.count_ones() == 1
        })
    }

    /// Returns true if only one kind completes the knitted straight `straight` and the rest of the hand.
    fn one_wait_of_straight(&self, straight: Kinds) -> bool {
        let mut rest = self.standing;
        for tile in straight.iter() {
            let (group, at) = place(tile);
            if rest[group] >> at & 15 == 0 {
                return true;
            }
            rest[group] -= 1 << at;
        }
        waiting_tiles(&rest, self.hand.win).count_ones() == 1
    }

    /// Returns the fans of a division into sets and a pair. `straight` holds the nine tiles of a knitted straight.
    fn read(&self, reading: HandDivision, straight: Option<Kinds>) -> Tally {
        let mut tally = self.tally;
        let (sets, number, pair, win) = (reading.sets(), reading.number(), reading.pair, self.hand.win);
        let standing = &sets[self.hand.melds.len().min(number)..number];
        let all: u32 = sets.iter().map(|&s| about(s)).sum();
        let of_pair = about(1 + pair);
        let (n, with_pair) = (|field: u32| all >> field & 15, |field: u32| (all + of_pair) >> field & 15);
        let (pungs, winds, dragons) = (n(about::PUNGS), n(about::WINDS), n(about::DRAGONS));
        let own = |wind: u8| (1 + WINDS as u8).saturating_add(wind);
        let (prevalent, seat) = (own(self.flags.prevalent_wind), own(self.flags.seat_wind));
        let (prevalent_pung, seat_pung) = (sets.contains(&prevalent), sets.contains(&seat));
        tally.add_if(prevalent_pung, PREVALENT_WIND);
        tally.add_if(seat_pung, SEAT_WIND);
        tally.add_times(DRAGON_PUNG, dragons);
        let own_winds = u32::from(prevalent_pung) + u32::from(seat_pung && seat != prevalent);
        let others = n(about::ENDS) + if winds >= 3 { 0 } else { winds.saturating_sub(own_winds) };
        let gates = u32::from(tally.held & bit(NINE_GATES) != 0);
        tally.add_times(PUNG_OF_TERMINALS_OR_HONORS, others.saturating_sub(gates));
        tally.add_if(winds == 4, BIG_FOUR_WINDS);
        tally.add_if(winds == 3 && with_pair(about::WINDS) == 4, LITTLE_FOUR_WINDS);
        tally.add_if(winds >= 3, BIG_THREE_WINDS);
        tally.add_if(dragons == 3, BIG_THREE_DRAGONS);
        tally.add_if(dragons == 2 && with_pair(about::DRAGONS) == 3, LITTLE_THREE_DRAGONS);
        tally.add_if(dragons >= 2, TWO_DRAGON_PUNGS);
        if straight.is_none() {
            tally.add_if(pungs == 4, ALL_PUNGS);
            tally.add_if(with_pair(about::EVEN) == 5, ALL_EVEN_PUNGS);
            tally.add_if(with_pair(about::OUTSIDE) == 5, OUTSIDE_HAND);
            tally.add_if(with_pair(about::FIVES) == 5 && suited(pair), ALL_FIVES);
        } else {
            tally.add(KNITTED_STRAIGHT);
        }
        tally.add_if(pungs == 0 && suited(pair), ALL_CHOWS);
        // The winning tile is assigned to the pair or a chow if possible, so that its pung stays concealed.
        let in_chow = |s: &Set| *s >= CHOWS && win.wrapping_sub(*s - CHOWS) <= 2;
        let elsewhere = pair == win || standing.iter().any(in_chow) || straight.is_some() && self.in_straight();
        let claimed = !self.flags.self_drawn && !elsewhere && standing.contains(&(1 + win));
        let concealed = standing.iter().filter(|s| **s < CHOWS).count() - usize::from(claimed);
        match concealed + usize::from(self.concealed) {
            4 => tally.add(FOUR_CONCEALED_PUNGS),
            3 => tally.add(THREE_CONCEALED_PUNGS),
            2 => tally.add(TWO_CONCEALED_PUNGS),
            _ => {}
        }
        if number == 4 {
            let combined = combine(reading, pungs as usize);
            if let Some(fan) = combined.main {
                tally.add(fan);
            }
            TWOS.iter().zip(combined.twos).for_each(|(&fan, times)| tally.add_times(fan, times.into()));
        }
        if let Some(fan) = wait(standing, pair, win)
            && straight.map_or_else(|| self.one_wait(), |nine| self.one_wait_of_straight(nine))
        {
            tally.add(fan);
        }
        tally
    }

    /// Returns true if the winning tile belongs to a knitted pattern that the hand contains.
    fn in_straight(&self) -> bool {
        let win = self.hand.win;
        (0..6).any(|p| knitted(p).has(win) && knitted(p).is_subset_of(self.kinds))
    }

    /// Returns the fans of a special hand, such as seven pairs; `None` if the hand is not special. Special hands have
    /// no melds.
    fn special(&self, tiles: &[Heights; GROUPS]) -> Option<Tally> {
        let mut tally = self.tally;
        let kinds = self.kinds;
        if kinds == ORPHANS {
            tally.add(THIRTEEN_ORPHANS);
        } else if kinds.0.count_ones() == 14 && (0..6).any(|p| kinds.is_subset_of(Kinds(knitted(p).0 | HONORS.0))) {
            let all_honors = HONORS.is_subset_of(kinds);
            tally.add(if all_honors { GREATER_HONORS_AND_KNITTED_TILES } else { LESSER_HONORS_AND_KNITTED_TILES });
            tally.add_if((0..6).any(|p| knitted(p).is_subset_of(kinds)), KNITTED_STRAIGHT);
        } else if tiles.iter().all(|h| h & ONES == 0) {
            let shifted = tiles[..SUITS].iter().any(|&h| h != 0 && h >> (h.trailing_zeros() / 4 * 4) == 0x222_2222);
            tally.add(if shifted { SEVEN_SHIFTED_PAIRS } else { SEVEN_PAIRS });
        } else {
            return None;
        }
        Some(tally)
    }
}

/// Returns the wait fan that fits the winning tile in this division: edge wait, closed wait or single wait. Returns
/// `None` if none fits. The caller checks that no other tile kind completes the hand.
fn wait(standing: &[Set], pair: Tile, win: Tile) -> Option<Fan> {
    let chows = || standing.iter().filter_map(|s| s.checked_sub(CHOWS)).map(|low| (low % RANKS as u8, low));
    if chows().any(|(rank, low)| rank == 0 && win == low + 2 || rank == 6 && win == low) {
        Some(EDGE_WAIT)
    } else if chows().any(|(_, low)| win == low + 1) {
        Some(CLOSED_WAIT)
    } else {
        (pair == win).then_some(SINGLE_WAIT)
    }
}

/// The tiles 1112345678999 of a suit.
const GATES: Heights = 0x3_1111_1113;

/// Returns the tiles with one tile added.
fn with(tiles: &[Heights; GROUPS], tile: Tile) -> [Heights; GROUPS] {
    let mut all = *tiles;
    let (group, at) = place(tile);
    all[group] += 1 << at;
    all
}

impl Hand {
    /// Returns the score of the best division; `None` if the hand does not win. Call [`correct`](Hand::correct) first
    /// if flags may be impossible.
    pub fn score(&self, edition: Edition) -> Option<Score> {
        self.best(edition, &EXCLUDED[usize::from(edition == Edition::Strict98)])
    }

    /// Returns the score of the best division. `excluded` holds the fans that each fan excludes.
    fn best(&self, edition: Edition, excluded: &[Fans; ROWS]) -> Option<Score> {
        let melds = self.melds.len();
        let standing: u32 = self.standing.iter().map(|&n| u32::from(n)).sum();
        if standing as usize + 3 * melds != 13 || usize::from(self.win) >= KINDS {
            return None;
        }
        let whole = Whole::of(self, edition);
        let tiles = with(&whole.standing, self.win);
        let mut best: Option<(Tally, u32)> = None;
        let mut offer = |tally: Tally| {
            let settled = tally.settle(excluded);
            if best.is_none_or(|b| settled.1 >= b.1) {
                best = Some(settled);
            }
        };
        if melds == 0 {
            whole.special(&tiles).into_iter().for_each(&mut offer);
        }
        if melds <= 1 {
            let kinds = heights::kinds(&tiles);
            for nine in (0..6).map(knitted).filter(|nine| nine.is_subset_of(kinds)) {
                let mut rest = tiles;
                nine.iter().map(place).for_each(|(group, at)| rest[group] -= 1 << at);
                readings(&rest, &self.melds, |reading| offer(whole.read(reading, Some(nine))));
            }
        }
        readings(&tiles, &self.melds, |reading| offer(whole.read(reading, None)));
        best.map(|(tally, points)| Score { tally, points, flowers: self.flags.flowers })
    }
}

#[cfg(test)]
impl Hand {
    /// Returns the fans of the best division without applying exclusions.
    pub(super) fn all_fans(&self) -> Option<Score> {
        self.best(Edition::Oracle, &[0; ROWS])
    }
}
