//! Settings of a tournament, which its run stores instead of a suite, and the schedule.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Context as _;
use ludex_protocol::record::{EndReason, Record};
use ludex_referee::outcome::is_forfeit;
use ludex_referee::rating::PlayedGame;
use ludex_referee::suite::MatchPolicy;
use ludex_referee::suite::plan::{self, Block, DueMatch, MatchKey, MatchScore, key};
use ludex_referee::tournament::{FinishedBlock, Tournament, TournamentFormat, TournamentResults, TournamentSettings};
use ludex_report::runs::RunSchedule;
use ludex_report::runs::episode::key_of;
use serde::{Deserialize, Serialize};

/// Name used where other runs have the name of a suite, for example to derive seeds.
pub const NAME: &str = "tournament";
/// Id of the only part of a tournament.
pub const PART: &str = "main";

/// Settings of a tournament.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TournamentTerms {
    pub game: String,
    /// Number of blocks per pairing, each on its own seed.
    pub blocks: u64,
    /// Seed for all random choices.
    pub seed: u64,
    /// Number of matches that an entrant must lose by its own failures to be disqualified; 0: never.
    pub strikes: u64,
    pub format: TournamentFormat,
    pub policy: MatchPolicy,
    /// Reasons for excluding the entrants that failed their trial, by entrant name.
    #[serde(default)]
    pub left_out: BTreeMap<String, String>,
}

impl TournamentTerms {
    /// Parses the settings of a tournament from the text of `suite.toml`.
    ///
    /// # Errors
    /// Returns an error if the text is not valid.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).context("suite.toml: expected tournament settings that this version can read")
    }

    /// Returns the settings as the text of `suite.toml`.
    ///
    /// # Errors
    /// Returns an error if TOML cannot represent a number.
    pub fn text(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(self)?)
    }
}

/// Schedule of a tournament among the agents of a run.
pub struct TournamentSchedule {
    pub tournament: Tournament,
    run: String,
    /// Indices of the entrants, by name.
    entrants: HashMap<String, usize>,
    left_out: BTreeMap<usize, String>,
    rematches: u32,
}

impl TournamentSchedule {
    /// Creates the schedule of the run `run` for the entrants `names`.
    ///
    /// # Errors
    /// Returns an error for invalid settings.
    pub fn new(run: &str, terms: &TournamentTerms, names: &[String], seats: usize) -> anyhow::Result<Self> {
        let TournamentTerms { blocks, seed, strikes, format, .. } = *terms;
        let tournament =
            Tournament::new(TournamentSettings { entrants: names.len(), seats, format, blocks, seed, strikes })?;
        let entrants: HashMap<String, usize> = names.iter().cloned().zip(0..).collect();
        let index = |(name, why): (&String, &String)| Some((*entrants.get(name)?, why.clone()));
        let left_out = terms.left_out.iter().filter_map(index).collect();
        Ok(TournamentSchedule {
            tournament,
            run: run.to_owned(),
            entrants,
            left_out,
            rematches: terms.policy.rematches,
        })
    }

    /// Returns the results of the matches whose scores are in `done`.
    pub fn results(&self, done: &plan::Results, records: &[Record]) -> TournamentResults {
        let mut results = TournamentResults::default();
        self.left_out.iter().for_each(|(&entrant, why)| results.leave_out(entrant, why.clone()));
        // Finished matches by block. A repeated match has two records.
        let mut blocks: BTreeMap<(u64, Vec<usize>), (FinishedBlock, BTreeSet<usize>)> = BTreeMap::new();
        for record in records {
            let Some((name, pairing, index, turn)) = self.place(record) else { continue };
            if !done.contains_key(name) {
                continue;
            }
            let (finished, over) = blocks.entry((index, pairing)).or_default();
            over.insert(turn);
            if let Some(played) = self.played(record) {
                finished.failed.extend(failed(record).and_then(|seat| played.seats.get(seat)));
                finished.matches.push(played);
            }
        }
        let all = self.tournament.matches_of_block() as usize;
        for ((index, pairing), (finished, _)) in blocks.into_iter().filter(|(_, (_, over))| over.len() >= all) {
            results.add(FinishedBlock { pairing, index, ..finished });
        }
        results
    }

    /// Returns the key, the pairing, the seed number and the position in the block of a recorded match.
    fn place<'r>(&self, record: &'r Record) -> Option<(&'r str, Vec<usize>, u64, usize)> {
        let (name, _) = key_of(&self.run, &record.header.episode)?;
        let (pairing, index, turn) = read_key(name)?;
        Some((name, pairing, index, turn))
    }

    /// Returns the result of a match; `None` if the match does not count. Unlike in ratings, a missed match is lost.
    fn played(&self, record: &Record) -> Option<PlayedGame> {
        let missed = |reason: EndReason| reason == EndReason::NoShow;
        let reason = record.footer.reason.filter(|&reason| reason.counts() || missed(reason))?;
        let seats: Option<Vec<usize>> =
            record.header.seats.iter().map(|seat| self.entrants.get(&seat.name).copied()).collect();
        let forfeit = record.footer.at_fault.filter(|_| is_forfeit(reason) || missed(reason)).map(|seat| seat as usize);
        let scores = record.footer.returns.clone();
        Some(PlayedGame { seats: seats?, scores, forfeit, ..PlayedGame::default() })
    }
}

/// Returns the seat whose failure ended the match, if any. A resignation is not a failure.
pub fn failed(record: &Record) -> Option<usize> {
    let failure = matches!(
        record.footer.reason?,
        EndReason::AgentError | EndReason::Illegal | EndReason::Timeout | EndReason::Disconnect | EndReason::NoShow
    );
    record.footer.at_fault.filter(|_| failure).map(|seat| seat as usize)
}

/// Parses the [`key`] of a match into pairing, seed number and position in the block.
fn read_key(key: &str) -> Option<(Vec<usize>, u64, usize)> {
    let place = MatchKey::parse(key).filter(|place| place.part == PART)?;
    Some((place.pairing, place.index, place.turn))
}

impl RunSchedule for TournamentSchedule {
    fn next(&self, done: &plan::Results, records: &[Record]) -> Vec<Block> {
        let due = self.tournament.next(&self.results(done, records));
        let block = |block: ludex_referee::tournament::TournamentBlock| {
            let is_due = |turn| !done.contains_key(&key(PART, &block.pairing, block.index, turn));
            let matches = block.tables.into_iter().enumerate().filter(|(turn, _)| is_due(*turn));
            let matches = matches.map(|(turn, seats)| DueMatch { turn, seats }).collect();
            Block { part: 0, pairing: block.pairing, index: block.index, matches }
        };
        due.into_iter().map(block).collect()
    }

    fn judge(&self, _: usize, _: usize, record: &Record) -> MatchScore {
        let Some(played) = self.played(record) else { return MatchScore::Discarded };
        let first = self.place(record).and_then(|(_, pairing, ..)| pairing.first().copied());
        let finished = FinishedBlock { matches: vec![played], ..FinishedBlock::default() };
        MatchScore::Points(first.map_or(0.0, |entrant| finished.points(entrant)))
    }

    fn find(&self, key: &str) -> Option<(usize, usize)> {
        read_key(key).map(|(_, _, turn)| (0, turn))
    }

    fn rematches(&self, _: usize) -> u32 {
        self.rematches
    }

    fn failed(&self, record: &Record) -> Option<usize> {
        let seat = record.header.seats.get(failed(record)?)?;
        self.entrants.get(&seat.name).copied()
    }

    fn strikes(&self) -> u64 {
        self.tournament.settings().strikes
    }
}
