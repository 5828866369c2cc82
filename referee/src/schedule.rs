//! Schedules: opponents, seats and seeds of matches. Matches are played in blocks. All matches of a block share a seed,
//! and each entrant plays on every seat. With two seats, a block is a seat-swapped pair.
//!
//! All entrants of a block get the same luck from the seed and the seats, so a difference between their results
//! measures skill. Ratings therefore resample whole blocks.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ludex_env::draw::key;
use ludex_env::{GameRef, Stream};
use ludex_protocol::spec::{ChanceMode, Information};
use serde::{Deserialize, Serialize};

use crate::digest::{rated_seed, seed_under};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Number of the block, from 0; with two seats a block is a pair. Matches of one block share a seed.
    pub pair: u64,
    /// Index of the rotation in the block, `0..seats`.
    pub turn: usize,
    /// Entrant index on each seat.
    pub seats: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// Public seeds: the first 8 bytes, big-endian, of SHA-256 of `ludex.v1:schedule:<seed>:<pair>`.
    Open(u64),
    /// Rated seeds: HMAC under a secret that is published with the report ([`rated_seed`]).
    Secret(Vec<u8>),
}

impl Seeds {
    /// Returns the seed of a block.
    pub fn of(&self, pair: u64) -> u64 {
        match self {
            Seeds::Open(seed) => open_seed(*seed, &pair.to_string()),
            Seeds::Secret(secret) => rated_seed(secret, pair),
        }
    }

    /// Returns the seed of a single match: the same derivation as [`Seeds::of`], but the text `<pair>:<meeting>:<turn>`
    /// replaces the block number.
    pub fn of_match(&self, pair: u64, meeting: u64, turn: usize) -> u64 {
        let place = format!("{pair}:{meeting}:{turn}");
        match self {
            Seeds::Open(seed) => open_seed(*seed, &place),
            Seeds::Secret(secret) => seed_under(secret, &place),
        }
    }
}

fn open_seed(seed: u64, place: &str) -> u64 {
    key(&format!("ludex.v1:schedule:{seed}:{place}")).iter().take(8).fold(0, |s, &b| s << 8 | u64::from(b))
}

/// Returns true if matches of the game may share a seed: the game has neither hidden information nor chance. In other
/// games, an agent could remember cards and dice from the first match on a seed.
pub fn may_share_seed(game: &GameRef) -> bool {
    let spec = game.spec();
    spec.information == Information::Perfect && spec.chance == ChanceMode::Deterministic
}

/// Seed reuse within a plan. Matches on one seed deal the same cards and roll the same dice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Deals {
    /// One seed for all matches of a block, with swapped seats. Suitable for agents without memory of earlier matches.
    #[default]
    Paired,
    /// One seed per match in games with hidden information or chance ([`may_share_seed`]), also for each variant of a
    /// candidate. Suitable for agents that can remember earlier matches.
    Once,
}

impl fmt::Display for Deals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Deals::Paired => "paired",
            Deals::Once => "once",
        })
    }
}

impl FromStr for Deals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Deals::Paired, Deals::Once];
        let known = all.into_iter().find(|deals| deals.to_string() == text);
        known.ok_or_else(|| format!("expected `once` or `paired`, got {text:?}"))
    }
}

/// Seeds of the matches of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchSeeds {
    seeds: Seeds,
    /// Meeting number of each pairing in the part; `None` if matches share the seed of their block.
    meetings: Option<BTreeMap<Vec<usize>, u64>>,
}

impl MatchSeeds {
    /// Creates the match seeds of `game` from the block seeds. Separate seeds are derived from the block, the meeting
    /// and the turn. `meetings` holds the meeting number of each pairing, 0 by default. Pairings that share an agent
    /// and a block number must have different meeting numbers.
    pub fn new(seeds: Seeds, deals: Deals, game: &GameRef, meetings: BTreeMap<Vec<usize>, u64>) -> Self {
        MatchSeeds { seeds, meetings: Some(meetings).filter(|_| deals == Deals::Once && !may_share_seed(game)) }
    }

    /// Returns true if the matches of a block share its seed.
    pub fn are_paired(&self) -> bool {
        self.meetings.is_none()
    }

    /// Returns the seed of a match.
    pub fn of(&self, pairing: &[usize], index: u64, turn: usize) -> u64 {
        match &self.meetings {
            Some(meetings) => self.seeds.of_match(index, meetings.get(pairing).copied().unwrap_or_default(), turn),
            None => self.seeds.of(index),
        }
    }
}

/// Reason why no plan is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Fewer entrants than seats.
    #[error("expected at least {seats} entrants, got {entrants}")]
    TooFew { entrants: usize, seats: usize },
    /// Settings that do not fit the format, such as a game without seats.
    #[error("{0}")]
    Bad(String),
}

/// Returns `blocks` blocks in which the entrants `table` meet, numbered from `first`, with one match for each rotation
/// of the seats. Rotation `t` puts `table[(k + t) mod n]` on seat `k`, where `n` is the number of entrants.
pub fn blocks(table: &[usize], blocks: u64, first: u64) -> Vec<Planned> {
    (first..first + blocks).flat_map(|pair| rotations(table, pair)).collect()
}

pub(crate) fn rotations(table: &[usize], pair: u64) -> impl Iterator<Item = Planned> {
    let n = table.len();
    (0..n).map(move |turn| Planned { pair, turn, seats: (0..n).map(|k| table[(k + turn) % n]).collect() })
}

/// Returns a round robin in which every group of `seats` entrants plays `rounds` blocks.
///
/// Each round contains every group once, so that a tournament that stops after any round is balanced. The order of a
/// round and the seatings are drawn from `seed`. Equal arguments give equal plans.
///
/// # Errors
/// Returns an error for fewer entrants than seats, or if `seats` is 0.
pub fn round_robin(entrants: usize, seats: usize, rounds: u64, seed: u64) -> Result<Vec<Planned>, PlanError> {
    let tables = tables(entrants, seats)?;
    let mut plan = Vec::new();
    for round in 0..rounds {
        let mut rng = Stream::from_text(&format!("ludex.v1:rounds:{seed}:{round}"));
        let mut order: Vec<usize> = (0..tables.len()).collect();
        rng.shuffle(&mut order);
        for (at, table) in order.into_iter().enumerate() {
            let mut table = tables[table].clone();
            rng.shuffle(&mut table);
            plan.extend(rotations(&table, round * tables.len() as u64 + at as u64));
        }
    }
    Ok(plan)
}

/// Returns all sets of `seats` numbers below `entrants`, in ascending order.
fn tables(entrants: usize, seats: usize) -> Result<Vec<Vec<usize>>, PlanError> {
    if seats == 0 {
        return Err(PlanError::Bad("seats: expected at least 1, got 0".into()));
    }
    if entrants < seats {
        return Err(PlanError::TooFew { entrants, seats });
    }
    let mut out = Vec::new();
    let mut set: Vec<usize> = (0..seats).collect();
    loop {
        out.push(set.clone());
        // Last position that can still increase; the later positions get the following numbers.
        let Some(at) = (0..seats).rev().find(|&k| set[k] < entrants - seats + k) else {
            return Ok(out);
        };
        set[at] += 1;
        for k in at + 1..seats {
            set[k] = set[k - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn matches_of_a_pair_share_a_seed_and_swap_seats() {
        let plan = blocks(&[7, 9], 2, 5);
        let shown: Vec<_> = plan.iter().map(|p| (p.pair, p.turn, &p.seats[..])).collect();
        assert_eq!(shown, [(5, 0, &[7, 9][..]), (5, 1, &[9, 7]), (6, 0, &[7, 9]), (6, 1, &[9, 7])]);
    }

    #[test]
    fn round_robin_is_balanced_for_any_number_of_seats() {
        for (entrants, seats, rounds) in [(5, 2, 3), (6, 3, 1), (4, 4, 2), (3, 1, 1)] {
            let plan = round_robin(entrants, seats, rounds, 1).unwrap();
            let mut on_seat = BTreeMap::new();
            let mut met = BTreeMap::new();
            let mut sets: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
            for m in &plan {
                for (k, &e) in m.seats.iter().enumerate() {
                    *on_seat.entry((e, k)).or_insert(0) += 1;
                    m.seats[..k].iter().for_each(|&o| *met.entry((e.min(o), e.max(o))).or_insert(0) += 1);
                }
                let set: BTreeSet<usize> = m.seats.iter().copied().collect();
                assert_eq!(set.len(), seats);
                assert_eq!(sets.entry(m.pair).or_insert_with(|| set.clone()), &set, "a block is one table");
            }
            let same = |counts: Vec<i32>| counts.windows(2).all(|w| w[0] == w[1]);
            assert_eq!(on_seat.len(), entrants * seats);
            assert!(same(on_seat.into_values().collect()) && same(met.into_values().collect()));
            assert_eq!(plan.len() as u64, sets.len() as u64 * seats as u64);
            assert_eq!(sets.keys().copied().collect::<Vec<_>>(), (0..sets.len() as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn equal_seeds_give_equal_plans() {
        let plan = |seed| round_robin(6, 2, 2, seed).unwrap();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert_eq!(round_robin(1, 2, 1, 0), Err(PlanError::TooFew { entrants: 1, seats: 2 }));
        assert!(matches!(round_robin(2, 0, 1, 0), Err(PlanError::Bad(_))));
    }

    #[test]
    fn seeds_are_distinct_and_reproducible() {
        for seeds in [Seeds::Open(1), Seeds::Secret(b"s".to_vec())] {
            let all: BTreeSet<u64> = (0..1000).map(|p| seeds.of(p)).collect();
            assert_eq!(all.len(), 1000);
            assert!(*all.first().unwrap() < 1 << 57 && *all.last().unwrap() > 0xfe << 56);
        }
        assert_eq!(Seeds::Secret(b"s".to_vec()).of(3), rated_seed(b"s", 3));
    }

    #[test]
    fn separate_seeds_are_unique_per_match() {
        let meetings = BTreeMap::from([(vec![0, 2], 0), (vec![0, 3], 1), (vec![1, 2], 0)]);
        for seeds in [Seeds::Open(1), Seeds::Secret(b"s".to_vec())] {
            let of = |deals, game: &str| {
                MatchSeeds::new(seeds.clone(), deals, &ludex_games::load(game).unwrap(), meetings.clone())
            };
            let (paired, once) = (of(Deals::Paired, "kuhn_poker"), of(Deals::Once, "kuhn_poker"));
            assert!(paired.are_paired() && !once.are_paired() && of(Deals::Once, "tic_tac_toe").are_paired());
            assert!((0..2).all(|turn| paired.of(&[0, 2], 7, turn) == seeds.of(7)));
            let places =
                || [[0, 2], [0, 3]].into_iter().flat_map(|p| (0..20).flat_map(move |k| [(p, k, 0), (p, k, 1)]));
            let all: BTreeSet<u64> = places().map(|(pairing, index, turn)| once.of(&pairing, index, turn)).collect();
            assert_eq!(all.len(), 80, "no seed of an agent is drawn twice");
            assert!((0..20).all(|k| !all.contains(&seeds.of(k))));
            // Agents 0 and 1 get equal seeds in equal meetings, so that their results can be compared.
            assert_eq!(once.of(&[1, 2], 3, 1), once.of(&[0, 2], 3, 1));
        }
        // echo -n 3:1:0 | openssl dgst -sha256 -hmac secret
        let known = Seeds::Secret(b"secret".to_vec()).of_match(3, 1, 0);
        assert_eq!(format!("{known:016x}"), "ab2f2ddd67a1320c");
        assert_eq!(["once", "paired"].map(str::parse), [Ok(Deals::Once), Ok(Deals::Paired)]);
        assert!("twice".parse::<Deals>().is_err());
    }

    #[test]
    fn seeds_are_shared_in_games_without_hidden_information_or_chance() {
        let may = |game: &str| may_share_seed(&ludex_games::load(game).unwrap());
        assert!(may("tic_tac_toe") && may("nim"));
        assert!(!may("kuhn_poker") && !may("pig"));
    }
}
