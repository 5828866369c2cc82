//! Who plays whom, on which seat and on which seed. Matches are played in blocks: they share a seed, and each entrant
//! plays on every seat. With two seats a block is a seat-swapped pair.
//!
//! All entrants of a block have the same luck of seed and seat, so that the difference between them is skill. Ratings
//! resample whole blocks for the same reason.

use ludex_env::Stream;
use ludex_env::draw::key;

use crate::digest::rated_seed;

/// A match to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The block (with two seats: the pair), from 0. Matches of one block share the seed.
    pub pair: u64,
    /// Which rotation of the block, `0..seats`.
    pub turn: usize,
    /// The entrant (an index) on each seat.
    pub seats: Vec<usize>,
}

/// Where seeds come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// Anybody can compute them: the first 8 bytes, big-endian, of SHA-256 of `ludex.v1:schedule:<seed>:<pair>`.
    Open(u64),
    /// Rated: HMAC under a secret that is published with the report ([`rated_seed`]).
    Secret(Vec<u8>),
}

impl Seeds {
    /// The seed of a block.
    pub fn of(&self, pair: u64) -> u64 {
        match self {
            Seeds::Open(seed) => {
                key(&format!("ludex.v1:schedule:{seed}:{pair}")).iter().take(8).fold(0, |s, &b| s << 8 | u64::from(b))
            }
            Seeds::Secret(secret) => rated_seed(secret, pair),
        }
    }
}

/// Why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Fewer entrants than seats.
    #[error("{seats} seats need at least as many entrants, not {entrants}")]
    TooFew {
        /// How many there are.
        entrants: usize,
        /// How many are needed.
        seats: usize,
    },
    /// No seat at all, or settings that do not fit the format.
    #[error("{0}")]
    Bad(String),
}

/// `blocks` blocks between the given entrants, one for each seat, numbered from `first`. Rotation `t` puts
/// `table[(k + t) mod n]` on seat `k`.
pub fn blocks(table: &[usize], blocks: u64, first: u64) -> Vec<Planned> {
    (first..first + blocks).flat_map(|pair| rotations(table, pair)).collect()
}

pub(crate) fn rotations(table: &[usize], pair: u64) -> impl Iterator<Item = Planned> {
    let n = table.len();
    (0..n).map(move |turn| Planned { pair, turn, seats: (0..n).map(|k| table[(k + turn) % n]).collect() })
}

/// Everybody against everybody: every set of `seats` of the `entrants` plays `rounds` blocks.
///
/// A round holds every set once, in an order and with a seating drawn from `seed`, so that a tournament that is stopped
/// after any round is balanced. The same arguments always give the same plan.
///
/// # Errors
/// Fewer entrants than seats, or no seats.
pub fn round_robin(entrants: usize, seats: usize, rounds: u64, seed: u64) -> Result<Vec<Planned>, PlanError> {
    let tables = tables(entrants, seats)?;
    let mut plan = Vec::new();
    for round in 0..rounds {
        let mut rng = Stream::named(&format!("ludex.v1:rounds:{seed}:{round}"));
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

/// Every set of `seats` of `0..entrants`, ascending.
fn tables(entrants: usize, seats: usize) -> Result<Vec<Vec<usize>>, PlanError> {
    if seats == 0 {
        return Err(PlanError::Bad("a match needs a seat".into()));
    }
    if entrants < seats {
        return Err(PlanError::TooFew { entrants, seats });
    }
    let mut out = Vec::new();
    let mut set: Vec<usize> = (0..seats).collect();
    loop {
        out.push(set.clone());
        // The last place that can still rise; the places after it get the numbers that follow.
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
    fn a_pair_is_one_seed_with_seats_swapped() {
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
    fn plans_depend_on_the_seed_alone() {
        let plan = |seed| round_robin(6, 2, 2, seed).unwrap();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
    }

    #[test]
    fn impossible_plans_say_why() {
        assert_eq!(round_robin(1, 2, 1, 0), Err(PlanError::TooFew { entrants: 1, seats: 2 }));
        assert!(matches!(round_robin(2, 0, 1, 0), Err(PlanError::Bad(_))));
    }

    #[test]
    fn seeds_are_spread_and_repeatable() {
        for seeds in [Seeds::Open(1), Seeds::Secret(b"s".to_vec())] {
            let all: BTreeSet<u64> = (0..1000).map(|p| seeds.of(p)).collect();
            assert_eq!(all.len(), 1000);
            assert!(*all.first().unwrap() < 1 << 57 && *all.last().unwrap() > 0xfe << 56);
        }
        assert_eq!(Seeds::Secret(b"s".to_vec()).of(3), rated_seed(b"s", 3));
    }
}
