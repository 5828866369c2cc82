//! Tournaments: the due matches as a function of the completed matches.
//!
//! The results are the only state: an interrupted tournament continues by computing the due matches again. The results
//! also suffice to check that the right matches were played.
//!
//! Matches are grouped in [`TournamentBlock`]s, each on one seed, as in [`crate::schedule`]. Each entrant of a block
//! plays on every seat; only a two-seat [`TournamentFormat::RoundRobin`] plays single matches. Formats:
//!
//! - **round robin**: every pair plays one match. The first seat is drawn so that each entrant has both seats equally
//!   often, or one seat once more if the entrant plays an odd number of matches.
//! - **double round robin**: every pair plays two matches on one seed with the seats swapped. With more than two seats,
//!   both round-robin formats are identical: every group of entrants plays a block, because a single match cannot be
//!   fair to all seats.
//! - **swiss**: each round pairs entrants with equal or nearly equal points that have not met yet. If the
//!   number of entrants is odd, an entrant without an earlier bye gets a bye, which counts as a won round.
//! - **ladder**: the entrants join one at a time, in drawn order. A newcomer starts at the bottom and challenges the
//!   entrant directly above. If the newcomer gets more points, the two swap places, and the newcomer challenges the
//!   next entrant; otherwise the climb ends.
//!
//! An entrant is eliminated if its own failures ended [`TournamentSettings::strikes`] matches, or if it was excluded
//! before the start. In round robins and ladders, no match of an eliminated entrant counts for any entrant, not even a
//! completed match. Opponents that met the entrant before its elimination thus have no advantage. In a swiss
//! tournament, completed matches count, because the pairings of later rounds depend on them; eliminated entrants are
//! not paired again.

mod ladder;
mod standings;
mod swiss;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ludex_env::Stream;
use serde::{Deserialize, Serialize};

use crate::rating::PlayedGame;
use crate::schedule::{PlanError, rotations, round_robin};

pub use standings::Standing;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TournamentFormat {
    /// One match for each pair of entrants.
    RoundRobin,
    /// One block for each pair of entrants: two matches on one seed with the seats swapped.
    DoubleRoundRobin,
    /// Rounds between entrants with equal points.
    Swiss { rounds: u64 },
    /// Challenges by newcomers, from the bottom of the ladder upward.
    Ladder,
}

impl TournamentFormat {
    /// Returns a swiss format with the usual number of rounds. After ceil(log2 n) rounds, at most one entrant has won
    /// every round; two more rounds rank the other entrants. The number of rounds is limited so that every entrant can
    /// meet a new opponent in each round.
    pub fn swiss(entrants: usize) -> Self {
        let enough = u64::from(entrants.max(2).next_power_of_two().ilog2()) + 2;
        let most = (entrants as u64 + entrants as u64 % 2).saturating_sub(1);
        TournamentFormat::Swiss { rounds: enough.min(most.max(1)) }
    }

    /// Returns the name of the tie-break for entrants with equal points; `None` for formats without a tie-break.
    pub fn tie_break(self) -> Option<&'static str> {
        match self {
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => Some("Sonneborn-Berger"),
            TournamentFormat::Swiss { .. } => Some("Buchholz"),
            TournamentFormat::Ladder => None,
        }
    }
}

/// Settings of a tournament.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TournamentSettings {
    /// Number of entrants, which are identified by index, from 0.
    pub entrants: usize,
    /// Number of seats of the game.
    pub seats: usize,
    pub format: TournamentFormat,
    /// Number of blocks (seeds) for each meeting.
    pub blocks: u64,
    /// Seed of all random draws.
    pub seed: u64,
    /// An entrant is disqualified after it has ended this many matches by its own failures; 0: never.
    pub strikes: u64,
}

/// Matches of a tournament on one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TournamentBlock {
    /// Entrants that meet, in the seat order of their first match.
    pub pairing: Vec<usize>,
    /// Number of the seed, unique in the tournament.
    pub index: u64,
    /// Entrant on each seat of each match.
    pub tables: Vec<Vec<usize>>,
}

impl TournamentBlock {
    /// Creates a block in which every entrant of the pairing plays on every seat.
    fn whole(pairing: Vec<usize>, index: u64) -> Self {
        let tables = rotations(&pairing, index).map(|planned| planned.seats).collect();
        TournamentBlock { pairing, index, tables }
    }
}

/// Result of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedBlock {
    /// Pairing of the block.
    pub pairing: Vec<usize>,
    /// Number of the block.
    pub index: u64,
    /// Completed matches, with entrants as players; discarded matches are omitted.
    pub matches: Vec<PlayedGame>,
    /// Entrants whose own failure ended a match. An entrant is listed once for each such match.
    pub failed: Vec<usize>,
}

impl FinishedBlock {
    /// Returns the points of an entrant: in each match, 1 for each opponent beaten and 1/2 for each draw with an
    /// opponent.
    pub fn points(&self, entrant: usize) -> f64 {
        let duels = self.matches.iter().flat_map(PlayedGame::duels);
        duels.map(|d| if d.a == entrant { d.score } else { f64::from(d.b == entrant) * (1.0 - d.score) }).sum()
    }
}

/// Finished blocks, and entrants excluded before the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TournamentResults {
    /// Finished blocks by number and pairing.
    finished: BTreeMap<(u64, Vec<usize>), FinishedBlock>,
    out: BTreeMap<usize, String>,
}

impl TournamentResults {
    /// Adds a finished block.
    pub fn add(&mut self, finished: FinishedBlock) {
        self.finished.insert((finished.index, finished.pairing.clone()), finished);
    }

    /// Excludes an entrant and stores the reason. Must be called before the first match.
    pub fn leave_out(&mut self, entrant: usize, why: impl Into<String>) {
        self.out.insert(entrant, why.into());
    }

    /// Returns the result of a block, if it is finished.
    fn of(&self, block: &TournamentBlock) -> Option<&FinishedBlock> {
        self.finished.get(&(block.index, block.pairing.clone()))
    }
}

/// Tournament with valid settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tournament {
    settings: TournamentSettings,
    /// Position of each entrant in a random permutation, used to assign seats and orders.
    drawn: Vec<usize>,
}

impl Tournament {
    /// Creates a tournament.
    ///
    /// # Errors
    /// Returns an error, which states the valid range, for fewer entrants than seats, fewer than two seats, no blocks
    /// or no rounds. Also returns an error for a swiss or ladder format in a game of more than two seats.
    pub fn new(settings: TournamentSettings) -> Result<Self, PlanError> {
        let TournamentSettings { entrants, seats, format, blocks, seed, .. } = settings;
        let bad = |why: String| Err(PlanError::Bad(why));
        match format {
            _ if seats < 2 => {
                return bad(format!("expected a game of at least 2 seats, got {seats}"));
            }
            _ if entrants < seats => return Err(PlanError::TooFew { entrants, seats }),
            _ if blocks == 0 => return bad("blocks: expected at least 1, got 0".into()),
            TournamentFormat::Swiss { rounds: 0 } => return bad("rounds: expected at least 1, got 0".into()),
            TournamentFormat::Swiss { .. } | TournamentFormat::Ladder if seats != 2 => {
                let name = if format == TournamentFormat::Ladder { "ladder" } else { "swiss" };
                return bad(format!("{name}: expected a game of 2 seats, got {seats}; round robins allow more seats"));
            }
            _ => {}
        }
        let mut drawn: Vec<usize> = (0..entrants).collect();
        Stream::from_text(&format!("ludex.v1:tournament:{seed}")).shuffle(&mut drawn);
        Ok(Tournament { settings, drawn })
    }

    pub fn settings(&self) -> &TournamentSettings {
        &self.settings
    }

    /// Returns the due blocks in playing order; empty after the end of the tournament. The result of one due block does
    /// not affect the other due blocks.
    pub fn next(&self, results: &TournamentResults) -> Vec<TournamentBlock> {
        match self.settings.format {
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => {
                let out = self.out(results);
                let due =
                    |b: &TournamentBlock| results.of(b).is_none() && !b.pairing.iter().any(|e| out.contains_key(e));
                self.everybody().into_iter().filter(due).collect()
            }
            TournamentFormat::Swiss { rounds } => swiss::course(self, rounds, results).due,
            TournamentFormat::Ladder => ladder::course(self, results).due,
        }
    }

    /// Returns the maximum number of blocks.
    pub fn blocks_at_most(&self) -> u64 {
        let TournamentSettings { entrants, seats, format, blocks, .. } = self.settings;
        let n = entrants as u64;
        let meetings = match format {
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => sets(n, seats as u64),
            TournamentFormat::Swiss { rounds } => rounds.saturating_mul(n / 2),
            TournamentFormat::Ladder => sets(n, 2),
        };
        meetings.saturating_mul(blocks)
    }

    /// Returns the number of matches in a block.
    pub fn matches_of_block(&self) -> u64 {
        if self.single() { 1 } else { self.settings.seats as u64 }
    }

    /// Returns the eliminated entrants with the reasons.
    pub fn out(&self, results: &TournamentResults) -> BTreeMap<usize, String> {
        self.out_by(results, results.finished.values())
    }

    /// Returns the entrants that are eliminated after these blocks, with the reasons.
    fn out_by<'a>(
        &self,
        results: &TournamentResults,
        finished: impl IntoIterator<Item = &'a FinishedBlock>,
    ) -> BTreeMap<usize, String> {
        let mut out = results.out.clone();
        let strikes = self.settings.strikes;
        if strikes > 0 {
            let mut failures: BTreeMap<usize, u64> = BTreeMap::new();
            finished.into_iter().flat_map(|f| &f.failed).for_each(|&e| *failures.entry(e).or_default() += 1);
            for (entrant, n) in failures.into_iter().filter(|&(_, n)| n >= strikes) {
                out.entry(entrant).or_insert_with(|| format!("disqualified: the entrant's failures ended {n} matches"));
            }
        }
        out
    }

    /// Returns true if blocks are single matches.
    fn single(&self) -> bool {
        self.settings.format == TournamentFormat::RoundRobin && self.settings.seats == 2
    }

    /// Returns all blocks of a round robin.
    fn everybody(&self) -> Vec<TournamentBlock> {
        let TournamentSettings { entrants, seats, blocks, seed, .. } = self.settings;
        // `new` checked that these settings give a plan.
        let plan = round_robin(entrants, seats, blocks, seed).unwrap_or_default();
        let mut names: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        let mut all: Vec<TournamentBlock> = Vec::new();
        for planned in plan {
            let (index, table) = (planned.pair, planned.seats);
            if let Some(block) = all.last_mut().filter(|block| block.index == index) {
                block.tables.push(table);
                continue;
            }
            let mut set = table.clone();
            set.sort_unstable();
            let pairing = names.entry(set).or_insert_with(|| table.clone()).clone();
            all.push(TournamentBlock { pairing, index, tables: vec![table] });
        }
        if self.single() {
            let meetings = names.len() as u64;
            for block in &mut all {
                let [a, b] = [block.tables[0][0], block.tables[0][1]];
                let ahead = self.is_first(a, b) == (block.index / meetings).is_multiple_of(2);
                block.tables = vec![if ahead { vec![a, b] } else { vec![b, a] }];
            }
        }
        all
    }

    /// Returns true if `a` has the first seat in its first match against `b`. The entrants stand in a circle in the
    /// order of their drawn positions, with one empty place if their number is even. An entrant has the first seat
    /// against the entrants in the half of the circle after its own place.
    fn is_first(&self, a: usize, b: usize) -> bool {
        let circle = self.settings.entrants | 1;
        (self.drawn[b] + circle - self.drawn[a]) % circle <= circle / 2
    }
}

/// Returns the binomial coefficient of `n` and `k`.
fn sets(n: u64, k: u64) -> u64 {
    let k = k.min(n - k);
    let many = (0..u128::from(k)).try_fold(1u128, |all, i| Some(all.checked_mul(u128::from(n) - i)? / (i + 1)));
    many.and_then(|all| u64::try_from(all).ok()).unwrap_or(u64::MAX)
}
