//! What a hand is worth: the best of its readings.

use super::combine::combine;
use super::divide::{Reading, Set, readings};
use super::fans::*;
use super::hand::{Edition, Flags, Hand, MeldKind};
use super::shanten::{FORMS, Form};
use super::tiles::{
    COPIES, Counts, DRAGONS, HONORS, KINDS, Kinds, RANKS, SUITS, TERMINALS, Tile, WINDS, family, kinds, knitted, rank,
    suited,
};

/// Fans, one bit each.
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

/// Fans of two sets. Fans of more sets do not forbid them: they have taken their sets already.
const OF_TWO: Fans = bits(&[DOUBLE_PUNG, PURE_DOUBLE_CHOW, MIXED_DOUBLE_CHOW, SHORT_STRAIGHT, TWO_TERMINAL_CHOWS]);
/// Fans of three or four sets.
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

/// What each fan leaves out, by edition.
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

/// Sets of kinds that a whole hand may consist of, and the fan for it.
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

const ORPHANS: Kinds = Kinds(HONORS.0 | TERMINALS.0);

/// The kinds of some ranks in all suits.
const fn ranks(low: usize, high: usize) -> Kinds {
    let one: u64 = ((1 << (high - low + 1)) - 1) << low;
    Kinds(one | one << RANKS | one << (2 * RANKS))
}

/// The fans of a winning hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    counts: [u8; ROWS],
    held: Fans,
    /// Points without flowers.
    pub points: u32,
    /// Flowers, a point each.
    pub flowers: u8,
}

impl Score {
    /// Points with flowers.
    pub fn total(&self) -> u32 {
        self.points + u32::from(self.flowers)
    }

    /// How often a fan counts.
    pub fn count(&self, fan: Fan) -> u8 {
        self.counts.get(fan).copied().unwrap_or(0)
    }

    /// Numbers of the fans with how often they count: by points, then by number; flowers last.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (Fan, u8)> {
        let mut all: Vec<Fan> = each(self.held).collect();
        all.sort_by_key(|&fan| (fan == FLOWER_TILES, std::cmp::Reverse(FANS[fan].points), fan));
        let counts = self.counts;
        all.into_iter().map(move |fan| (fan, counts[fan]))
    }

    /// Points of one, how often it counts, name: by points, then by number; flowers last.
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

/// Fans that hold, before any is left out.
#[derive(Clone)]
struct Tally {
    counts: [u8; ROWS],
    held: Fans,
}

impl Tally {
    const NONE: Tally = Tally { counts: [0; ROWS], held: 0 };

    fn add(&mut self, fan: Fan) {
        self.counts[fan] += 1;
        self.held |= bit(fan);
    }

    fn add_if(&mut self, holds: bool, fan: Fan) {
        if holds {
            self.add(fan);
        }
    }

    fn remove_one(&mut self, fan: Fan) {
        self.counts[fan] = self.counts[fan].saturating_sub(1);
        if self.counts[fan] == 0 {
            self.held &= !bit(fan);
        }
    }

    /// Leaves out what is not added: a fan that counts leaves out others, one that is left out does not.
    fn score(mut self, excluded: &[Fans; ROWS], flowers: u8) -> Score {
        let mut left = self.held;
        while left != 0 {
            let fan = left.trailing_zeros() as Fan;
            left &= left - 1;
            left &= !excluded[fan];
            self.held &= !excluded[fan];
        }
        if self.held == 0 {
            self.add(CHICKEN_HAND);
        }
        let points = each(self.held).map(|fan| FANS[fan].points * u32::from(self.counts[fan])).sum();
        if flowers > 0 {
            self.counts[FLOWER_TILES] = flowers;
            self.held |= bit(FLOWER_TILES);
        }
        Score { counts: self.counts, held: self.held, points, flowers }
    }
}

/// All about a hand that no reading changes.
struct Whole<'a> {
    hand: &'a Hand,
    flags: Flags,
    /// Standing tiles with the winning one.
    tiles: Counts,
    kinds: Kinds,
    /// Concealed kongs.
    concealed: u8,
    tally: Tally,
    /// Whether only one kind completes the hand; found when it is asked for.
    one_wait: std::cell::OnceCell<bool>,
}

impl Whole<'_> {
    fn of(hand: &Hand) -> Whole<'_> {
        let flags = hand.flags;
        let tiles = hand.complete();
        let mut all = tiles;
        let mut tally = Tally::NONE;
        let (mut claimed, mut kongs, mut concealed, mut in_kongs) = (0, 0, 0, 0u64);
        for meld in &hand.melds {
            claimed += u8::from(meld.kind != MeldKind::Angang);
            concealed += u8::from(meld.kind == MeldKind::Angang);
            kongs += u8::from(meld.kong());
            in_kongs |= u64::from(meld.kong()) << meld.tile;
            meld.tiles().into_iter().for_each(|t| all[usize::from(t)] += 1);
        }
        let kinds = kinds(&all);
        let families = (0..5).filter(|&f| kinds.iter().any(|t| family(t) == f)).fold(0, |all, f| all | 1 << f);
        let suits = (families & 7u8).count_ones();
        MADE_OF.iter().for_each(|&(fan, of)| tally.add_if(kinds.within(of), fan));
        let both = kinds.0 & HONORS.0 != 0 && kinds.0 & TERMINALS.0 != 0;
        tally.add_if(both && kinds.within(ORPHANS), ALL_TERMINALS_AND_HONORS);
        tally.add_if(suits == 1 && families < 8, FULL_FLUSH);
        tally.add_if(suits == 1 && families >= 8, HALF_FLUSH);
        tally.add_if(suits == 2, ONE_VOIDED_SUIT);
        tally.add_if(families == 31, ALL_TYPES);
        for (k, &n) in all.iter().enumerate() {
            tally.add_if(n == COPIES && in_kongs >> k & 1 == 0, TILE_HOG);
        }
        let melded = kongs - concealed;
        match (melded, concealed) {
            (0, 0) => {}
            _ if kongs == 4 => tally.add(FOUR_KONGS),
            _ if kongs == 3 => tally.add(THREE_KONGS),
            (2, 0) => tally.add(TWO_MELDED_KONGS),
            (0, 2) => tally.add(TWO_CONCEALED_KONGS),
            (1, 1) => tally.add(MIXED_KONGS),
            (1, _) => tally.add(MELDED_KONG),
            _ => tally.add(CONCEALED_KONG),
        }
        let drawn = flags.self_drawn;
        tally.add_if(drawn, SELF_DRAWN);
        tally.add_if(claimed == 0, if drawn { FULLY_CONCEALED_HAND } else { CONCEALED_HAND });
        tally.add_if(claimed == 4 && !drawn, MELDED_HAND);
        tally.add_if(flags.wall_last, if drawn { LAST_TILE_DRAW } else { LAST_TILE_CLAIM });
        tally.add_if(flags.about_kong, if drawn { OUT_WITH_REPLACEMENT_TILE } else { ROBBING_THE_KONG });
        tally.add_if(flags.fourth_tile, LAST_TILE);
        tally.add_if(hand.melds.is_empty() && nine_gates(&hand.standing), NINE_GATES);
        Whole { hand, flags, tiles, kinds, concealed, tally, one_wait: std::cell::OnceCell::new() }
    }

    fn one_wait(&self) -> bool {
        *self.one_wait.get_or_init(|| {
            let melds = self.hand.melds.len();
            let ready = FORMS.iter().filter_map(|form| form.of(&self.hand.standing, melds)).filter(|s| s.number == 0);
            ready.fold(0, |all, s| all | s.useful.0).count_ones() == 1
        })
    }

    /// The fans of sets and a pair; `standing` are the sets that were not laid down, `straight` tells that nine knitted tiles
    /// stand beside them.
    fn read(&self, reading: &Reading, straight: bool) -> Tally {
        let mut tally = self.tally.clone();
        let (sets, pair) = (&reading.sets[..], reading.pair);
        let standing = &sets[self.hand.melds.len()..];
        let pungs = sets.iter().filter(|s| !s.chow).count();
        let is_wind = |t: Tile| family(t) == 3;
        let is_dragon = |t: Tile| family(t) == 4;
        let own = |t: Tile, wind: u8| usize::from(t) == WINDS + usize::from(wind);
        let winds = sets.iter().filter(|s| is_wind(s.tile)).count();
        let dragons = sets.iter().filter(|s| is_dragon(s.tile)).count();
        for set in sets.iter().filter(|s| !s.chow) {
            let t = set.tile;
            let (prevalent, seat) = (own(t, self.flags.prevalent_wind), own(t, self.flags.seat_wind));
            tally.add_if(prevalent, PREVALENT_WIND);
            tally.add_if(seat, SEAT_WIND);
            tally.add_if(is_dragon(t), DRAGON_PUNG);
            let counted = prevalent || seat || is_dragon(t) || (is_wind(t) && winds >= 3);
            tally.add_if(ORPHANS.has(t) && !counted, PUNG_OF_TERMINALS_OR_HONORS);
        }
        tally.add_if(winds == 4, BIG_FOUR_WINDS);
        tally.add_if(winds == 3 && is_wind(pair), LITTLE_FOUR_WINDS);
        tally.add_if(winds >= 3, BIG_THREE_WINDS);
        tally.add_if(dragons == 3, BIG_THREE_DRAGONS);
        tally.add_if(dragons == 2 && is_dragon(pair), LITTLE_THREE_DRAGONS);
        tally.add_if(dragons >= 2, TWO_DRAGON_PUNGS);
        if tally.held & bit(NINE_GATES) != 0 {
            tally.remove_one(PUNG_OF_TERMINALS_OR_HONORS);
        }
        if !straight {
            let every = |holds: fn(Tile) -> bool| {
                let in_set = |s: &Set| if s.chow { (s.tile..s.tile + 3).any(holds) } else { holds(s.tile) };
                holds(pair) && sets.iter().all(in_set)
            };
            tally.add_if(pungs == 4, ALL_PUNGS);
            tally.add_if(pungs == 4 && every(|t| suited(t) && rank(t) % 2 == 1), ALL_EVEN_PUNGS);
            tally.add_if(every(|t| ORPHANS.has(t)), OUTSIDE_HAND);
            tally.add_if(every(|t| suited(t) && rank(t) == 4), ALL_FIVES);
        }
        tally.add_if(pungs == 0 && suited(pair), ALL_CHOWS);
        // The winning tile belongs to the pair or a chow where it can, so that its pung stays concealed.
        let win = self.hand.win;
        let elsewhere =
            pair == win || standing.iter().any(|s| s.chow && s.has(win)) || (straight && self.in_straight());
        let claimed = !self.flags.self_drawn && !elsewhere;
        let concealed = standing.iter().filter(|s| !(s.chow || claimed && s.tile == win)).count();
        match concealed + usize::from(self.concealed) {
            4 => tally.add(FOUR_CONCEALED_PUNGS),
            3 => tally.add(THREE_CONCEALED_PUNGS),
            2 => tally.add(TWO_CONCEALED_PUNGS),
            _ => {}
        }
        let combined = combine(reading);
        combined.main.into_iter().chain(combined.pairs).for_each(|fan| tally.add(fan));
        let wait = || {
            let edge = |s: &&Set| s.chow && (s.rank() == 0 && win == s.tile + 2 || s.rank() == 6 && win == s.tile);
            let closed = |s: &&Set| s.chow && win == s.tile + 1;
            if standing.iter().any(|s| edge(&s)) {
                Some(EDGE_WAIT)
            } else if standing.iter().any(|s| closed(&s)) {
                Some(CLOSED_WAIT)
            } else {
                (pair == win).then_some(SINGLE_WAIT)
            }
        };
        if let Some(fan) = wait().filter(|_| self.one_wait()) {
            tally.add(fan);
        }
        tally
    }

    /// Whether the winning tile may be one of the nine of a knitted straight.
    fn in_straight(&self) -> bool {
        let win = self.hand.win;
        (0..6).any(|p| knitted(p).has(win) && knitted(p).within(self.kinds))
    }

    /// The fans of a hand that is not divided into sets.
    fn special(&self) -> Option<Tally> {
        let mut tally = self.tally.clone();
        if Form::ThirteenOrphans.distance(&self.tiles, 0) == 0 {
            tally.add(THIRTEEN_ORPHANS);
        } else if Form::HonorsKnitted.distance(&self.tiles, 0) == 0 {
            let all_honors = HONORS.within(self.kinds);
            tally.add(if all_honors { GREATER_HONORS_AND_KNITTED_TILES } else { LESSER_HONORS_AND_KNITTED_TILES });
            tally.add_if((0..6).any(|p| knitted(p).within(self.kinds)), KNITTED_STRAIGHT);
        } else if Form::SevenPairs.distance(&self.tiles, 0) == 0 {
            let first = (0..KINDS).find(|&k| self.tiles[k] > 0).unwrap_or(0);
            let shifted = family(first as Tile) < SUITS && rank(first as Tile) <= 2;
            let shifted = shifted && self.tiles[first..first + 7].iter().all(|&n| n == 2);
            tally.add(if shifted { SEVEN_SHIFTED_PAIRS } else { SEVEN_PAIRS });
        } else {
            return None;
        }
        Some(tally)
    }
}

/// Whether the tiles are 1112345678999 of a suit.
fn nine_gates(standing: &Counts) -> bool {
    standing[..DRAGONS.min(WINDS)].chunks_exact(RANKS).any(|suit| *suit == [3, 1, 1, 1, 1, 1, 1, 1, 3])
}

impl Hand {
    /// The fans of the best reading; `None` if the hand does not win. Flags count as they stand: [`correct`](Hand::correct)
    /// corrects them.
    pub fn score(&self, edition: Edition) -> Option<Score> {
        self.best(edition, &EXCLUDED[usize::from(edition == Edition::Strict98)])
    }

    /// The best reading, with what each fan leaves out.
    fn best(&self, edition: Edition, excluded: &[Fans; ROWS]) -> Option<Score> {
        let melds: arrayvec::ArrayVec<Set, 4> = self.melds.iter().map(|&m| m.into()).collect();
        let standing: u8 = self.standing.iter().sum();
        if usize::from(standing) + 3 * melds.len() != 13 || usize::from(self.win) >= KINDS {
            return None;
        }
        let whole = Whole::of(self);
        let mut best: Option<Score> = None;
        let mut offer = |mut tally: Tally| {
            if edition == Edition::Strict98 && tally.held & bit(MIXED_KONGS) != 0 {
                tally.remove_one(MIXED_KONGS);
                tally.add(CONCEALED_KONG);
                tally.add(MELDED_KONG);
            }
            let score = tally.score(excluded, self.flags.flowers);
            if best.as_ref().is_none_or(|b| score.points >= b.points) {
                best = Some(score);
            }
        };
        if melds.is_empty() {
            whole.special().into_iter().for_each(&mut offer);
        }
        if melds.len() <= 1 {
            for pattern in (0..6).filter(|&p| knitted(p).within(kinds(&whole.tiles))) {
                let mut rest = whole.tiles;
                knitted(pattern).iter().for_each(|t| rest[usize::from(t)] -= 1);
                readings(&rest, &melds, 1 - melds.len(), |reading| {
                    let mut tally = whole.read(reading, true);
                    tally.add(KNITTED_STRAIGHT);
                    offer(tally);
                });
            }
        }
        readings(&whole.tiles, &melds, 4 - melds.len(), |reading| offer(whole.read(reading, false)));
        best
    }
}

#[cfg(test)]
impl Hand {
    /// The fans that hold in the best reading where nothing is left out.
    pub(super) fn all_fans(&self) -> Option<Score> {
        self.best(Edition::Oracle, &[0; ROWS])
    }
}
