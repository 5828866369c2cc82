//! Tournaments: who plays whom next, as a function of what has been played.
//!
//! The results are the only state. To continue after an interruption, ask again. Anybody who has the results can check
//! that the right matches were played.
//!
//! Matches are played in [`TournamentBlock`]s on one seed, as everywhere ([`crate::schedule`]). A pairing plays whole blocks, in
//! which each entrant plays on every seat; only a [`Format::RoundRobin`] of two seats plays single matches. Formats:
//!
//! - **round robin**: every pair meets in one match. The first seat is drawn so that each entrant has each seat equally
//!   often, or once more where the number is odd.
//! - **double round robin**: every pair meets on one seed with the seats swapped. With more than two seats both round
//!   robins are the same: every set of entrants plays a block, because a single match cannot be fair to all seats.
//! - **swiss**: in each round, entrants meet that have equally many points, or nearly, and have not met before. If their
//!   number is odd, one that has not had a bye yet gets one; it is worth a round won.
//! - **ladder**: the entrants come in one after the other, in drawn order. A newcomer begins below all others and
//!   challenges the entrant above it. If it gets more points, it takes that place and challenges the next; otherwise it
//!   stays.
//!
//! An entrant is out if its own failures ended [`TournamentSettings::strikes`] matches, or if it was left out from the start.
//! Round robins and ladders continue as if it had never entered: none of its matches counts for anybody, not even those
//! that were played. So an entrant that met it early has no advantage over one that would have met it late. In a swiss
//! the matches that were played count, because the pairings of later rounds follow from them; entrants that are out are
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

/// How a tournament is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TournamentFormat {
    /// Every pair in one match.
    RoundRobin,
    /// Every pair on one seed with the seats swapped.
    DoubleRoundRobin,
    /// Entrants with equally many points, round by round.
    Swiss {
        /// How many rounds.
        rounds: u64,
    },
    /// Newcomers challenge their way up the table.
    Ladder,
}

impl TournamentFormat {
    /// A swiss with the usual number of rounds for this many entrants: ceil(log2 n), after which at most one entrant
    /// has won all its rounds, and two more for the places behind it; but not more rounds than there are new opponents.
    pub fn swiss(entrants: usize) -> Self {
        let enough = u64::from(entrants.max(2).next_power_of_two().ilog2()) + 2;
        let most = (entrants as u64 + entrants as u64 % 2).saturating_sub(1);
        TournamentFormat::Swiss { rounds: enough.min(most.max(1)) }
    }

    /// What orders entrants with equally many points, if the format has a rule for it.
    pub fn tie_break(self) -> Option<&'static str> {
        match self {
            TournamentFormat::RoundRobin | TournamentFormat::DoubleRoundRobin => Some("Sonneborn-Berger"),
            TournamentFormat::Swiss { .. } => Some("Buchholz"),
            TournamentFormat::Ladder => None,
        }
    }
}

/// What makes a tournament.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TournamentSettings {
    /// How many entrants take part; they are named by index, from 0.
    pub entrants: usize,
    /// Seats of the game.
    pub seats: usize,
    /// The format.
    pub format: TournamentFormat,
    /// Blocks (seeds) for each meeting.
    pub blocks: u64,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Disqualify an entrant after this many matches that its own failures ended; 0: never.
    pub strikes: u64,
}

/// Matches on one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TournamentBlock {
    /// The entrants that meet, in the order of their first meeting.
    pub pairing: Vec<usize>,
    /// The number of the seed; no two blocks of a tournament share it.
    pub index: u64,
    /// The entrant on each seat of each match.
    pub tables: Vec<Vec<usize>>,
}

impl TournamentBlock {
    /// A block in which every entrant of the pairing plays on every seat.
    fn whole(pairing: Vec<usize>, index: u64) -> Self {
        let tables = rotations(&pairing, index).map(|planned| planned.seats).collect();
        TournamentBlock { pairing, index, tables }
    }
}

/// The result of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedBlock {
    /// The block's pairing.
    pub pairing: Vec<usize>,
    /// The block's number.
    pub index: u64,
    /// Its matches, with entrants as players. A match that was discarded is missing.
    pub matches: Vec<PlayedGame>,
    /// The entrants whose own failure ended a match, once for each such match.
    pub failed: Vec<usize>,
}

impl FinishedBlock {
    /// What an entrant got against the others: 1 for a win, 1/2 for a draw, for each other seat of each match.
    pub fn points(&self, entrant: usize) -> f64 {
        let duels = self.matches.iter().flat_map(PlayedGame::duels);
        duels.map(|d| if d.a == entrant { d.score } else { f64::from(d.b == entrant) * (1.0 - d.score) }).sum()
    }
}

/// What has been played, and who was left out from the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TournamentResults {
    /// By number and pairing.
    finished: BTreeMap<(u64, Vec<usize>), FinishedBlock>,
    out: BTreeMap<usize, String>,
}

impl TournamentResults {
    /// Adds a finished block.
    pub fn add(&mut self, finished: FinishedBlock) {
        self.finished.insert((finished.index, finished.pairing.clone()), finished);
    }

    /// Leaves an entrant out, for this reason. Call it before the first match: then the entrant never entered.
    pub fn leave_out(&mut self, entrant: usize, why: impl Into<String>) {
        self.out.insert(entrant, why.into());
    }

    /// The result of a block, if it is finished.
    fn of(&self, block: &TournamentBlock) -> Option<&FinishedBlock> {
        self.finished.get(&(block.index, block.pairing.clone()))
    }
}

/// A tournament with valid settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tournament {
    settings: TournamentSettings,
    /// The number that was drawn for each entrant.
    drawn: Vec<usize>,
}

impl Tournament {
    /// A tournament.
    ///
    /// # Errors
    /// Invalid settings, with what would be valid: fewer entrants than seats, one seat, no block or round; a swiss or a
    /// ladder of a game that does not have two seats.
    pub fn new(settings: TournamentSettings) -> Result<Self, PlanError> {
        let TournamentSettings { entrants, seats, format, blocks, seed, .. } = settings;
        let bad = |why: String| Err(PlanError::Bad(why));
        match format {
            _ if seats < 2 => {
                return bad("a tournament needs a game of two seats or more: with one, nobody meets".into());
            }
            _ if entrants < seats => return Err(PlanError::TooFew { entrants, seats }),
            _ if blocks == 0 => return bad("a meeting needs at least one block of matches".into()),
            TournamentFormat::Swiss { rounds: 0 } => return bad("a swiss needs at least one round".into()),
            TournamentFormat::Swiss { .. } | TournamentFormat::Ladder if seats != 2 => {
                let name = if format == TournamentFormat::Ladder { "ladder" } else { "swiss" };
                return bad(format!("a {name} needs a game of two seats, not {seats}; a round robin takes any"));
            }
            _ => {}
        }
        let mut drawn: Vec<usize> = (0..entrants).collect();
        Stream::from_text(&format!("ludex.v1:tournament:{seed}")).shuffle(&mut drawn);
        Ok(Tournament { settings, drawn })
    }

    /// Its settings.
    pub fn settings(&self) -> &TournamentSettings {
        &self.settings
    }

    /// The blocks that can be played now, in order; their results do not depend on each other. If there are none, the
    /// tournament is over.
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

    /// The largest number of blocks that may be played.
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

    /// How many matches a block has.
    pub fn matches_of_block(&self) -> u64 {
        if self.single() { 1 } else { self.settings.seats as u64 }
    }

    /// Who is out, and why.
    pub fn out(&self, results: &TournamentResults) -> BTreeMap<usize, String> {
        self.out_by(results, results.finished.values())
    }

    /// Who is out after these blocks.
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
                out.entry(entrant).or_insert_with(|| format!("disqualified: its own failures ended {n} matches"));
            }
        }
        out
    }

    /// Whether blocks are single matches.
    fn single(&self) -> bool {
        self.settings.format == TournamentFormat::RoundRobin && self.settings.seats == 2
    }

    /// All blocks of a round robin.
    fn everybody(&self) -> Vec<TournamentBlock> {
        let TournamentSettings { entrants, seats, blocks, seed, .. } = self.settings;
        // `new` checked that these settings make a plan.
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

    /// Whether `a` sits first when it meets `b` for the first time. Around a circle of drawn numbers each entrant is first
    /// against the half that follows it; an even number has an empty place on the circle.
    fn is_first(&self, a: usize, b: usize) -> bool {
        let circle = self.settings.entrants | 1;
        (self.drawn[b] + circle - self.drawn[a]) % circle <= circle / 2
    }
}

/// How many sets of `k` are in `n`.
fn sets(n: u64, k: u64) -> u64 {
    let k = k.min(n - k);
    let many = (0..u128::from(k)).try_fold(1u128, |all, i| Some(all.checked_mul(u128::from(n) - i)? / (i + 1)));
    many.and_then(|all| u64::try_from(all).ok()).unwrap_or(u64::MAX)
}
