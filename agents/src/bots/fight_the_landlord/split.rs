//! Splits a hand into plays with the least total burden.
//!
//! Burden estimates how hard a hand is to empty. Every play adds burden. Weak plays add more than strong plays,
//! which win back the lead. Bombs and the rocket reduce the burden. Trios and planes take the weakest single cards and
//! pairs as wings.

use ludex_games::fight_the_landlord::cards::{Counts, RANKS, count, of_rank};
use ludex_games::fight_the_landlord::combinations::Kind;

/// Cards that form one legal play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combo {
    pub kind: Kind,
    /// Number of consecutive ranks in the main part; `rank` is the lowest of them.
    pub length: u8,
    pub rank: u8,
    pub counts: Counts,
}

impl Combo {
    pub fn of(kind: Kind, rank: usize, length: usize, each: u8) -> Combo {
        Combo { kind, length: length as u8, rank: rank as u8, counts: row(rank, length, each) }
    }

    pub fn rocket() -> Combo {
        Combo { kind: Kind::Rocket, length: 2, rank: 13, counts: of_rank(13, 1) + of_rank(14, 1) }
    }
}

/// Returns `each` cards of every rank in a run of `length` ranks that starts at `rank`.
pub fn row(rank: usize, length: usize, each: u8) -> Counts {
    (rank..rank + length).fold(0, |all, r| all + of_rank(r, each))
}

/// Types of chains: kind of play, cards per rank, and minimum length in ranks.
const CHAINS: [(Kind, u8, usize); 3] = [(Kind::Straight, 1, 5), (Kind::PairStraight, 2, 3), (Kind::Plane, 3, 2)];

/// Number of ranks that can be part of a chain, from the lowest rank up.
const CHAINED: usize = 12;

/// Returns the burden of a single card, pair or trio of the given rank.
fn weight(rank: usize) -> i32 {
    14 - rank as i32
}

const BOMB: i32 = -8;
const ROCKET: i32 = -10;

/// Returns the burden of a chain, which is low because chains are rarely beaten.
fn chain_weight(rank: usize, length: usize) -> i32 {
    10 - (rank + length) as i32 / 2
}

/// Maximum number of chains in one split, given that a hand has at most twenty cards.
const MOST: usize = 5;

/// Chains of a split. The cards outside the chains are grouped by rank.
#[derive(Clone, Copy, Default)]
struct Chains {
    list: [Option<Combo>; MOST],
    number: usize,
}

struct SplitSearch {
    best: i32,
    chains: Chains,
}

/// Returns true if the hand contains a chain.
fn chained(hand: Counts) -> bool {
    CHAINS.iter().any(|&(_, each, least)| {
        let has = (0..CHAINED).fold(0u32, |set, r| set | u32::from(count(hand, r) >= each) << r);
        (1..least).fold(has, |run, k| run & has >> k) != 0
    })
}

/// Returns the burden of the cards outside chains. Single cards and pairs that serve as wings add no burden: one for
/// each trio, and up to `slots` for planes.
fn plain(hand: Counts, slots: usize) -> i32 {
    let mut slots = slots + (0..13).filter(|&r| count(hand, r) == 3).count();
    let rocket = count(hand, 13) + count(hand, 14) == 2;
    let mut sum = if rocket { ROCKET } else { 0 };
    for r in 0..if rocket { 13 } else { RANKS } {
        sum += match count(hand, r) {
            0 => 0,
            4 => BOMB,
            3 => weight(r),
            // Ranks are visited from the lowest up, so the weakest cards become wings first.
            _ if slots > 0 => {
                slots -= 1;
                0
            }
            _ => weight(r),
        };
    }
    sum
}

impl SplitSearch {
    fn go(&mut self, hand: Counts, from: usize, chains: &mut Chains, so_far: i32, slots: usize) {
        let sum = so_far + plain(hand, slots);
        if sum < self.best {
            (self.best, self.chains) = (sum, *chains);
        }
        if chains.number == MOST || !chained(hand) {
            return;
        }
        for rank in from..CHAINED {
            for (kind, each, least) in CHAINS {
                let mut length = 0;
                while rank + length < CHAINED && count(hand, rank + length) >= each {
                    length += 1;
                    if length < least {
                        continue;
                    }
                    let chain = Combo::of(kind, rank, length, each);
                    chains.list[chains.number] = Some(chain);
                    chains.number += 1;
                    let more = if kind == Kind::Plane { length } else { 0 };
                    let sum = so_far + chain_weight(rank, length);
                    self.go(hand - chain.counts, rank, chains, sum, slots + more);
                    chains.number -= 1;
                }
            }
        }
    }
}

fn search(hand: Counts) -> SplitSearch {
    let mut search = SplitSearch { best: i32::MAX, chains: Chains::default() };
    search.go(hand, 0, &mut Chains::default(), 0, 0);
    search
}

/// Cache of hand burdens for one decision.
pub struct Splits {
    kept: Vec<(Counts, i32)>,
}

const KEPT: u32 = 14;

impl Splits {
    pub fn new() -> Splits {
        Splits { kept: vec![(0, 0); 1 << KEPT] }
    }

    /// Returns the least burden of any split of the hand; 0 for an empty hand.
    pub fn burden(&mut self, hand: Counts) -> i32 {
        let place = (hand.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KEPT)) as usize;
        let (of, burden) = self.kept[place];
        if of == hand {
            return burden;
        }
        let burden = search(hand).best;
        self.kept[place] = (hand, burden);
        burden
    }
}

/// Returns the plays of the split with the least burden.
pub fn plays(hand: Counts) -> Vec<Combo> {
    let found = search(hand);
    let chains = &found.chains.list[..found.chains.number];
    let mut rest = chains.iter().flatten().fold(hand, |rest, c| rest - c.counts);
    let mut out = Vec::new();
    if count(rest, 13) + count(rest, 14) == 2 {
        let rocket = Combo::rocket();
        rest -= rocket.counts;
        out.push(rocket);
    }
    let (mut trios, mut ones, mut twos) = (Vec::new(), Vec::new(), Vec::new());
    for r in 0..RANKS {
        match count(rest, r) {
            1 => ones.push(r),
            2 => twos.push(r),
            3 => trios.push(Combo::of(Kind::Trio, r, 1, 3)),
            4 => out.push(Combo::of(Kind::Bomb, r, 1, 4)),
            _ => {}
        }
    }
    for chain in chains.iter().flatten() {
        if chain.kind == Kind::Plane { trios.insert(0, *chain) } else { out.push(*chain) }
    }
    for mut trio in trios {
        let n = usize::from(trio.length);
        // Takes the n lowest single cards or the n lowest pairs as wings, whichever end at the lower rank.
        let low = |ranks: &[usize]| (ranks.len() >= n).then(|| ranks[n - 1]);
        let wings = match (low(&ones), low(&twos)) {
            (Some(a), Some(b)) if b < a => Some((&mut twos, 2)),
            (Some(_), _) => Some((&mut ones, 1)),
            (None, Some(_)) => Some((&mut twos, 2)),
            (None, None) => None,
        };
        if let Some((ranks, each)) = wings {
            trio.counts += ranks.drain(..n).fold(0, |all, r| all + of_rank(r, each));
            trio.kind = winged(trio.kind, each);
        }
        out.push(trio);
    }
    out.extend(ones.into_iter().map(|r| Combo::of(Kind::Single, r, 1, 1)));
    out.extend(twos.into_iter().map(|r| Combo::of(Kind::Pair, r, 1, 2)));
    out
}

/// Returns the kind of play that a trio or plane (`kind`) becomes with wings of `each` cards.
fn winged(kind: Kind, each: u8) -> Kind {
    match (kind, each) {
        (Kind::Trio, 1) => Kind::TrioSingle,
        (Kind::Trio, _) => Kind::TrioPair,
        (_, 1) => Kind::PlaneSingles,
        _ => Kind::PlanePairs,
    }
}
