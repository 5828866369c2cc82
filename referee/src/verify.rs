//! Verification: a record counts only if playing it again by the rules of this program gives the same result.

mod replay;
mod stream;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, RwLock};

use ludex_env::recording::{Keep, ParsedLine, read_line};
use ludex_env::{GameRef, Games};
use ludex_protocol::record::{EndReason, Header, Outcome, Record, RecordParts};
use ludex_protocol::spec::{Params, Spec};
use rayon::prelude::*;

use crate::digest::{NotCanonical, digest, seed_commit};
use crate::outcome::{is_forfeit, outcomes};
use crate::read::{RejectedRecord, Source, SourcedRecord};
use crate::result::GameResult;
use replay::{FinalPosition, replay};
use stream::{SeenDigests, episode_of};

/// A record that was played again and is true. Only a [`Verifier`] makes one.
#[derive(Clone)]
pub struct VerifiedRecord {
    record: Record,
    source: Source,
    seed: Option<u64>,
    result: GameResult,
}

impl VerifiedRecord {
    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What its game tells about itself.
    pub fn spec(&self) -> &Spec {
        self.result.spec()
    }

    /// The game with its parameters, for those who want to play the record again.
    pub fn game(&self) -> &GameRef {
        &self.result.game
    }

    /// Where it was found.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Why the episode ended.
    pub fn reason(&self) -> EndReason {
        self.result.reason
    }

    /// Moves that were played: a joint move is one, chance is not counted.
    pub fn moves(&self) -> u32 {
        self.result.moves
    }

    /// The seat that forfeited.
    pub fn at_fault(&self) -> Option<usize> {
        self.result.at_fault
    }

    /// The seed, if it was released; then every chance outcome was compared with its draws.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The record's digest, lower-case hex.
    pub fn digest(&self) -> &str {
        &self.result.digest
    }

    /// Says at which place of its run's plan the match is, from 1, and whether the plan plays another match in its place.
    pub fn set_place(&mut self, order: usize, replayed: bool) {
        (self.result.order, self.result.replayed) = (order, replayed);
    }

    /// What ratings and metrics need of it.
    pub fn result(&self) -> &GameResult {
        &self.result
    }

    /// As [`result`](Self::result); the record is dropped.
    pub fn into_result(self) -> GameResult {
        self.result
    }
}

impl AsRef<GameResult> for VerifiedRecord {
    fn as_ref(&self) -> &GameResult {
        &self.result
    }
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The text is not a record: a field is missing or wrong.
    Damaged,
    /// The game does not exist, or its parameters are wrong.
    Game,
    /// It was played by other rules than this program's.
    Rules,
    /// A move could not be played, or was refused without reason.
    Move,
    /// A chance outcome was impossible, or is not the one that the seed gives.
    Chance,
    /// Returns, outcome or reason do not follow from the events.
    Result,
    /// The seed is not the one that was committed to.
    Seed,
    /// The digest does not fit the record.
    Digest,
}

/// Why a record is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// The event at fault, from 0.
    pub event: Option<usize>,
    /// One sentence.
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

/// Plays records again. It keeps the games that it has loaded, so that a thousand records of one game load it once.
#[derive(Default)]
pub struct Verifier {
    games: Games,
    /// The names of the marks that results keep.
    wanted: BTreeSet<String>,
    /// By the game's name: the parameters, and the game with them.
    loaded: RwLock<HashMap<String, Vec<(Params, GameRef)>>>,
}

impl Verifier {
    /// A verifier for the built-in games.
    pub fn new() -> Self {
        Self::default()
    }

    /// A verifier for these games.
    pub fn of(games: Games) -> Self {
        Verifier { games, ..Self::default() }
    }

    /// The same verifier, whose results keep the marks of these names. Without them no mark is computed: some cost much
    /// more than the verification.
    pub fn with_marks(mut self, marks: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wanted.extend(marks.into_iter().map(Into::into));
        self
    }

    /// Verifies one record.
    ///
    /// The game, its parameters and the rules' hash must be those of this verifier's games; every move must be legal in its
    /// position, and every refused attempt illegal; where the seed is known, chance must be what the seed gives;
    /// returns, outcome and reason must follow from the events; the seed must be the one that was committed to; the
    /// digest must fit.
    ///
    /// # Errors
    /// The first problem found, checked in this order, with its event if there is one.
    pub fn verify(&self, parts: &RecordParts, source: Source) -> Result<VerifiedRecord, RecordFault> {
        let record = parts.clone().record().map_err(|e| RecordFault::new(FaultKind::Damaged, e.to_string()))?;
        self.check(record, source, || named_fault(parts), || digest(parts))
    }

    /// Verifies the record of one line. The verdict is that of [`verify`](Self::verify) over the line's [`Parts`], but
    /// usual records are read several times faster.
    ///
    /// # Errors
    /// As [`verify`](Self::verify); a line that is not a record is [`FaultKind::Damaged`].
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

    /// Checks in the documented order. `named` is the record's `at_fault`, `digest` what its text gives.
    fn check(
        &self,
        record: Record,
        source: Source,
        named: impl FnOnce() -> Result<Option<usize>, RecordFault>,
        digest: impl FnOnce() -> Result<String, NotCanonical>,
    ) -> Result<VerifiedRecord, RecordFault> {
        let game = self.game(&record.header)?;
        let seed = seed_of(&record)?;
        let reason =
            record.footer.reason.ok_or_else(|| RecordFault::new(FaultKind::Result, "the episode is not over"))?;
        let ending = replay(&game, &record, reason, seed, &self.wanted)?;
        let at_fault = result(game.spec(), &record, reason, &ending, named()?)?;
        let digest = digest().map_err(|e| RecordFault::new(FaultKind::Digest, e.to_string()))?;
        match &record.footer.digest {
            None => return Err(RecordFault::new(FaultKind::Digest, "it has no digest")),
            Some(written) if *written != digest => {
                return Err(RecordFault::new(
                    FaultKind::Digest,
                    format!("the digest is {digest}, not {written}: it was changed"),
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

    /// Verifies many records on all cores. Both lists keep the order; a record that was given twice counts once.
    pub fn verify_all(&self, found: &[SourcedRecord]) -> (Vec<VerifiedRecord>, Vec<RejectedRecord>) {
        self.verify_each(found, || {})
    }

    /// As [`verify_all`](Self::verify_all); calls `done` after each record, from any thread, to show progress.
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

    /// The game of these parameters, loaded once.
    fn load(&self, header: &Header) -> Result<GameRef, RecordFault> {
        let known = |games: &[(Params, GameRef)]| {
            games.iter().find(|(params, _)| *params == header.params).map(|(_, game)| Arc::clone(game))
        };
        // If a thread panicked while it held the lock, the map is still whole.
        let games = self.loaded.read().unwrap_or_else(|broken| broken.into_inner());
        if let Some(game) = games.get(&header.game).and_then(|games| known(games)) {
            return Ok(game);
        }
        drop(games);
        let game = self
            .games
            .load_with(&header.game, &header.params)
            .map_err(|e| RecordFault::new(FaultKind::Game, e.to_string()))?;
        let mut games = self.loaded.write().unwrap_or_else(|broken| broken.into_inner());
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
            let message = format!("{:?} is not the game's id, which is {}", header.game, spec.game);
            return Err(RecordFault::new(FaultKind::Game, message));
        }
        if (header.rules, &header.hash) != (spec.rules, &spec.hash) {
            let message = format!(
                "played by rules {} with hash {} of {}, this program has rules {} with hash {}",
                header.rules, header.hash, header.game, spec.rules, spec.hash
            );
            return Err(RecordFault::new(FaultKind::Rules, message));
        }
        if header.seats.len() != spec.players as usize {
            let message = format!("{} seats in a game of {}", header.seats.len(), spec.players);
            return Err(RecordFault::new(FaultKind::Game, message));
        }
        Ok(game)
    }
}

/// The seed, if it is there; it must be the one committed to.
fn seed_of(record: &Record) -> Result<Option<u64>, RecordFault> {
    let wrong = |message: String| Err(RecordFault::new(FaultKind::Seed, message));
    let Some(text) = &record.footer.seed else { return Ok(None) };
    let Ok(seed) = text.parse::<u64>() else {
        return wrong(format!("seed {text:?} is not a number below 2^64"));
    };
    let Some(commit) = &record.header.seed_commit else { return Ok(Some(seed)) };
    let Some(salt) = &record.footer.salt else {
        return wrong("the seed was committed to, but its salt is missing".into());
    };
    let mut bytes = [0; 16];
    if hex::decode_to_slice(salt, &mut bytes).is_err() {
        return wrong(format!("salt {salt:?} is not 16 bytes in hex"));
    }
    if seed_commit(&bytes, seed) != *commit {
        return wrong(format!("seed {seed} is not the one committed to"));
    }
    Ok(Some(seed))
}

/// `at_fault`, if the record names it.
fn named_fault(parts: &RecordParts) -> Result<Option<usize>, RecordFault> {
    match parts.footer.get("at_fault").or_else(|| parts.header.get("at_fault")) {
        None => Ok(None),
        Some(value) => match value.as_u64().and_then(|seat| usize::try_from(seat).ok()) {
            Some(seat) => Ok(Some(seat)),
            None => Err(RecordFault::new(FaultKind::Damaged, format!("at_fault = {value} is not a seat"))),
        },
    }
}

/// Checks returns and outcome against the replay. Gives the seat that forfeited.
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
        return wrong(format!("{} returns and {} outcomes for {seats} seats", returns.len(), outcome.len()));
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
            Some(seat) => return wrong(format!("seat {seat} is at fault, but it does not exist")),
            None => return wrong(format!("a forfeit ({}) that does not name the offender", name(reason))),
        }
    } else {
        None
    };
    let (expected, by) = (expected(at_fault), at_fault.map_or(String::new(), |s| format!(" after seat {s}'s forfeit")));
    if !same(&expected, returns) {
        return wrong(format!("returns {returns:?}, but the events give {expected:?}{by}"));
    }
    let decided = outcomes(spec, &expected, reason, at_fault);
    if decided != *outcome {
        return wrong(format!("outcome {}, but returns {returns:?} give {}{by}", names(outcome), names(&decided)));
    }
    Ok(at_fault)
}

/// Whether the lists are equal, except for what a decimal text may lose.
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
