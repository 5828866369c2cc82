//! Verification: a record counts only if a replay under this program's rules reproduces its result.

mod replay;
mod stream;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use ludex_env::recording::{Keep, ParsedLine, read_line};
use ludex_env::{GameRef, Games};
use ludex_protocol::record::{EndReason, Header, Outcome, Record, RecordParts};
use ludex_protocol::spec::{Params, Spec};
use parking_lot::RwLock;
use rayon::prelude::*;

use crate::digest::{NotCanonical, digest, seed_commit};
use crate::outcome::{is_forfeit, outcomes};
use crate::read::{RejectedRecord, Source, SourcedRecord};
use crate::result::{GameResult, SeatMark};
use replay::{FinalPosition, replay};
use stream::{SeenDigests, episode_of};

/// Record that passed verification, created only by a [`Verifier`].
#[derive(Clone)]
pub struct VerifiedRecord {
    record: Record,
    source: Source,
    seed: Option<u64>,
    result: GameResult,
}

impl VerifiedRecord {
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the spec of the game.
    pub fn spec(&self) -> &Spec {
        self.result.spec()
    }

    /// Returns the game with its parameters, e.g. to play the record's events again.
    pub fn game(&self) -> &GameRef {
        &self.result.game
    }

    /// Returns the location of the record.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the reason for the end of the episode.
    pub fn reason(&self) -> EndReason {
        self.result.reason
    }

    /// Returns the number of moves. A joint move counts as one move, and chance events are excluded.
    pub fn moves(&self) -> u32 {
        self.result.moves
    }

    /// Returns the seat that forfeited.
    pub fn at_fault(&self) -> Option<usize> {
        self.result.at_fault
    }

    /// Returns the seed, if the record reveals it. All chance outcomes then match the seed.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Returns the record's digest in lower-case hex.
    pub fn digest(&self) -> &str {
        &self.result.digest
    }

    /// Sets the position of the match in the run's plan, from 1. `replayed` is true if the plan schedules a
    /// replacement.
    pub fn set_place(&mut self, order: usize, replayed: bool) {
        (self.result.order, self.result.replayed) = (order, replayed);
    }

    /// Adds a mark that does not follow from the record, such as a label.
    ///
    /// # Panics
    /// Panics if the match does not have the seat.
    pub fn add_mark(&mut self, seat: usize, mark: SeatMark) {
        self.result.seats[seat].marks.push(mark);
    }

    /// Returns the result for ratings and metrics.
    pub fn result(&self) -> &GameResult {
        &self.result
    }

    /// Returns the result without the record.
    pub fn into_result(self) -> GameResult {
        self.result
    }
}

impl AsRef<GameResult> for VerifiedRecord {
    fn as_ref(&self) -> &GameResult {
        &self.result
    }
}

/// Kind of a record fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Text that is not a record: a field is missing or wrong.
    Damaged,
    /// Unknown game or wrong parameters.
    Game,
    /// Rules that differ from this program's rules.
    Rules,
    /// Illegal move, or refusal of a legal move.
    Move,
    /// Chance outcome that is impossible or does not match the seed.
    Chance,
    /// Returns, outcome or reason that contradict the events.
    Result,
    /// Seed that does not match its commitment.
    Seed,
    /// Digest that does not match the record.
    Digest,
}

/// Reason for rejecting a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    pub kind: FaultKind,
    /// Index of the event at fault, from 0.
    pub event: Option<usize>,
    pub message: String,
}

impl RecordFault {
    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        RecordFault { kind, event: None, message: message.into() }
    }

    fn at(event: usize, kind: FaultKind, message: impl Into<String>) -> Self {
        RecordFault { kind, event: Some(event), message: message.into() }
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(event) = self.event {
            write!(f, "events[{event}]: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for RecordFault {}

/// Verifier of records. Each game is loaded once and cached.
pub struct Verifier {
    games: Games,
    /// Names of the marks to collect into results.
    wanted: BTreeSet<String>,
    /// Loaded games by name, each with its parameters.
    loaded: RwLock<HashMap<String, Vec<(Params, GameRef)>>>,
}

impl Verifier {
    /// Creates a verifier for these games.
    pub fn new(games: Games) -> Self {
        Verifier { games, wanted: BTreeSet::new(), loaded: RwLock::default() }
    }

    /// Sets the names of the marks to collect into results. Other marks are not computed: some cost much more than the
    /// verification.
    pub fn with_marks(mut self, marks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wanted.extend(marks.into_iter().map(Into::into));
        self
    }

    /// Verifies one record.
    ///
    /// The game, its parameters and the hash of its rules must match this verifier's games. Every move must be legal in
    /// its position, and every refused attempt must be illegal. A known seed must match its commitment, and chance
    /// outcomes must match the seed. Returns, outcome and reason must follow from the events, and the digest must match
    /// the record.
    ///
    /// # Errors
    /// Returns the first fault in the order of these checks, with the index of the event if the fault is in an event.
    pub fn verify(&self, parts: &RecordParts, source: Source) -> Result<VerifiedRecord, RecordFault> {
        let record = parts.clone().record().map_err(|e| RecordFault::new(FaultKind::Damaged, e.to_string()))?;
        self.check(record, source, || named_fault(parts), || digest(parts))
    }

    /// Verifies the record on one line. Returns the same result as [`verify`](Self::verify) for the line's
    /// [`RecordParts`], but is several times faster for most records.
    ///
    /// # Errors
    /// Same as [`verify`](Self::verify). The error for a line that is not a record has the kind [`FaultKind::Damaged`].
    pub fn verify_line(&self, line: &str, source: Source) -> Result<VerifiedRecord, RecordFault> {
        match read_line(line, Keep::All) {
            Some(line) => self.verify_read(line, source),
            None => {
                let parts =
                    RecordParts::parse(line).map_err(|e| RecordFault::new(FaultKind::Damaged, e.to_string()))?;
                self.verify(&parts, source)
            }
        }
    }

    fn verify_read(
        &self,
        ParsedLine { record, digest }: ParsedLine,
        source: Source,
    ) -> Result<VerifiedRecord, RecordFault> {
        let named = record.footer.at_fault.map(|seat| seat as usize);
        self.check(record, source, || Ok(named), || Ok(digest))
    }

    /// Runs the checks in the order that [`verify`](Self::verify) documents. `named` returns the record's `at_fault`,
    /// and `digest` returns the digest of the record's text.
    fn check(
        &self,
        record: Record,
        source: Source,
        named: impl FnOnce() -> Result<Option<usize>, RecordFault>,
        digest: impl FnOnce() -> Result<String, NotCanonical>,
    ) -> Result<VerifiedRecord, RecordFault> {
        let game = self.game(&record.header)?;
        let seed = seed_of(&record)?;
        let reason = record.footer.reason.ok_or_else(|| {
            RecordFault::new(FaultKind::Result, "expected an end reason, got none: the episode is not finished")
        })?;
        let ending = replay(&game, &record, reason, seed, &self.wanted)?;
        let at_fault = result(game.spec(), &record, reason, &ending, named()?)?;
        let digest = digest().map_err(|e| RecordFault::new(FaultKind::Digest, e.to_string()))?;
        match &record.footer.digest {
            None => return Err(RecordFault::new(FaultKind::Digest, "expected a digest, got none")),
            Some(written) if *written != digest => {
                return Err(RecordFault::new(
                    FaultKind::Digest,
                    format!("expected digest {digest}, got {written}; the record was changed"),
                ));
            }
            Some(_) => {}
        }
        let mut result = GameResult::new(game, &record, reason, at_fault, ending.moves, ending.teams, digest);
        for ((seat, scores), marks) in result.seats.iter_mut().zip(ending.hand_scores).zip(ending.marks) {
            (seat.hand_scores, seat.marks) = (scores, marks);
        }
        Ok(VerifiedRecord { record, source, seed, result })
    }

    /// Verifies many records on all cores. Returns the verified and the rejected records, both in input order. A
    /// duplicate record is rejected.
    pub fn verify_all(&self, found: &[SourcedRecord]) -> (Vec<VerifiedRecord>, Vec<RejectedRecord>) {
        self.verify_each(found, || {})
    }

    /// Verifies many records like [`verify_all`](Self::verify_all), and calls `done` after each record, from any
    /// thread, to report progress.
    pub fn verify_each(
        &self,
        found: &[SourcedRecord],
        done: impl Fn() + Sync,
    ) -> (Vec<VerifiedRecord>, Vec<RejectedRecord>) {
        let check = |f: &SourcedRecord| {
            let checked = self.verify(&f.parts, f.source.clone());
            done();
            checked
        };
        let checked: Vec<_> = found.par_iter().map(check).collect();
        let (mut good, mut refused): (Vec<VerifiedRecord>, Vec<RejectedRecord>) = Default::default();
        let mut seen = SeenDigests::default();
        for (found, checked) in found.iter().zip(checked) {
            let message = match checked {
                Ok(verified) => match seen.take(verified.digest(), verified.source()) {
                    Ok(()) => {
                        good.push(verified);
                        continue;
                    }
                    Err(message) => message,
                },
                Err(fault) => fault.to_string(),
            };
            refused.push(RejectedRecord { source: found.source.clone(), episode: episode_of(&found.parts), message });
        }
        (good, refused)
    }

    /// Returns the record's game with its parameters. A game is loaded on first use.
    fn load(&self, header: &Header) -> Result<GameRef, RecordFault> {
        let known = |games: &[(Params, GameRef)]| {
            games.iter().find(|(params, _)| *params == header.params).map(|(_, game)| Arc::clone(game))
        };
        // The map is consistent even if a thread panicked while it held the lock.
        let games = self.loaded.read();
        if let Some(game) = games.get(&header.game).and_then(|games| known(games)) {
            return Ok(game);
        }
        drop(games);
        let game = self
            .games
            .load_with(&header.game, &header.params)
            .map_err(|e| RecordFault::new(FaultKind::Game, e.to_string()))?;
        let mut games = self.loaded.write();
        let games = games.entry(header.game.clone()).or_default();
        match known(games) {
            Some(game) => Ok(game),
            None => {
                games.push((header.params.clone(), Arc::clone(&game)));
                Ok(game)
            }
        }
    }

    fn game(&self, header: &Header) -> Result<GameRef, RecordFault> {
        let game = self.load(header)?;
        let spec = game.spec();
        if header.game != spec.game {
            let message = format!("expected game {}, got {:?}", spec.game, header.game);
            return Err(RecordFault::new(FaultKind::Game, message));
        }
        if (header.rules, &header.hash) != (spec.rules, &spec.hash) {
            let message = format!(
                "expected rules {} of {} with hash {}, got rules {} with hash {}",
                spec.rules, header.game, spec.hash, header.rules, header.hash
            );
            return Err(RecordFault::new(FaultKind::Rules, message));
        }
        if header.seats.len() != spec.players as usize {
            let message = format!("expected {} seats, got {}", spec.players, header.seats.len());
            return Err(RecordFault::new(FaultKind::Game, message));
        }
        Ok(game)
    }
}

/// Returns the seed, which must match its commitment; `None` if the record has no seed.
fn seed_of(record: &Record) -> Result<Option<u64>, RecordFault> {
    let wrong = |message: String| Err(RecordFault::new(FaultKind::Seed, message));
    let Some(text) = &record.footer.seed else { return Ok(None) };
    let Ok(seed) = text.parse::<u64>() else {
        return wrong(format!("expected a seed below 2^64, got {text:?}"));
    };
    let Some(commit) = &record.header.seed_commit else { return Ok(Some(seed)) };
    let Some(salt) = &record.footer.salt else {
        return wrong("expected a salt for the seed commitment, got none".into());
    };
    let mut bytes = [0; 16];
    if hex::decode_to_slice(salt, &mut bytes).is_err() {
        return wrong(format!("expected a salt of 16 bytes in hex, got {salt:?}"));
    }
    if seed_commit(&bytes, seed) != *commit {
        return wrong(format!("seed {seed} does not match its commitment"));
    }
    Ok(Some(seed))
}

/// Returns the seat in the record's `at_fault`; `None` if the field is absent.
fn named_fault(parts: &RecordParts) -> Result<Option<usize>, RecordFault> {
    match parts.footer.get("at_fault").or_else(|| parts.header.get("at_fault")) {
        None => Ok(None),
        Some(value) => match value.as_u64().and_then(|seat| usize::try_from(seat).ok()) {
            Some(seat) => Ok(Some(seat)),
            None => Err(RecordFault::new(FaultKind::Damaged, format!("at_fault: expected a seat, got {value}"))),
        },
    }
}

/// Checks the outcome and the return of each seat against the final position. Returns the seat that forfeited.
fn result(
    spec: &Spec,
    record: &Record,
    reason: EndReason,
    ending: &FinalPosition,
    named: Option<usize>,
) -> Result<Option<usize>, RecordFault> {
    let wrong = |message: String| Err(RecordFault::new(FaultKind::Result, message));
    let (returns, outcome) = (&record.footer.returns, &record.footer.outcome);
    if !reason.counts() {
        return Ok(named);
    }
    let seats = spec.players as usize;
    if returns.len() != seats || outcome.len() != seats {
        let (returns, outcomes) = (returns.len(), outcome.len());
        return wrong(format!("expected {seats} returns and {seats} outcomes, got {returns} and {outcomes}"));
    }
    let expected = |offender: Option<usize>| {
        let mut returns = ending.returns.clone();
        if let Some(offender) = offender {
            ludex_env::batch::forfeit(spec, offender, &mut returns);
        }
        returns
    };
    let at_fault = if is_forfeit(reason) {
        let offender = named.or(ending.unanswered).or_else(|| match seats {
            1 => Some(0),
            2 => outcome.iter().position(|o| *o == Outcome::Loss),
            _ => {
                let mut able = (0..seats).filter(|&seat| same(&expected(Some(seat)), returns));
                able.next().filter(|_| able.next().is_none())
            }
        });
        match offender {
            Some(seat) if seat < seats => Some(seat),
            Some(seat) => return wrong(format!("at_fault: expected a seat below {seats}, got {seat}")),
            None => return wrong(format!("expected a seat at fault for the forfeit ({}), got none", name(reason))),
        }
    } else {
        None
    };
    let (expected, by) = (expected(at_fault), at_fault.map_or(String::new(), |s| format!(" after seat {s}'s forfeit")));
    if !same(&expected, returns) {
        return wrong(format!("expected returns {expected:?} from the events{by}, got {returns:?}"));
    }
    let teams = ending.teams.as_deref().filter(|_| record.header.ludex > 1);
    let decided = outcomes(spec, teams, &expected, reason, at_fault);
    if decided != *outcome {
        return wrong(format!(
            "expected outcome {} from returns {returns:?}{by}, got {}",
            names(&decided),
            names(outcome)
        ));
    }
    Ok(at_fault)
}

/// Returns true if the lists are equal, up to rounding in the decimal text of the record.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()))
}

fn name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn names(outcome: &[Outcome]) -> String {
    outcome.iter().map(name).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod lines;
#[cfg(test)]
mod tests;
