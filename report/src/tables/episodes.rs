//! Table of a run's matches.

use ludex_protocol::record::{EndReason, Record, RecordEvent, RecordParts};
use ludex_referee::read::{RejectedRecord, SourcedRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::record::parts_line;
use super::{TableRow, collect_rows, document};
use crate::runs::archive::Archive;
use crate::runs::episode::MatchPlace;

/// Match of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EpisodeRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: Option<String>,
    /// indices of the paired agents in the list of the run's agents
    pub pairing: Option<String>,
    /// index of the seed in the part, from 0
    pub round: Option<u64>,
    /// rotation of the seats, from 0
    pub rotation: Option<usize>,
    /// true if the match repeats a match that failed
    pub rematch: Option<bool>,
    /// game with its parameters
    pub game: String,
    /// version of the rules
    pub rules: u32,
    /// hash of the game's spec
    pub rules_hash: String,
    /// JSON: name, spec and kind of the agent on each seat
    pub seats: String,
    /// start, UTC, RFC 3339
    pub started: String,
    /// end, UTC, RFC 3339
    pub ended: Option<String>,
    /// reason for the end
    #[schemars(with = "Option<String>")]
    pub reason: Option<EndReason>,
    /// true if the match counts; false after a failure of the infrastructure
    pub counts: bool,
    /// JSON: win, loss, draw or none, by seat
    pub outcome: String,
    /// JSON: return of each seat, in the game's points
    pub returns: String,
    /// seat whose forfeit ended the match
    pub at_fault: Option<u32>,
    /// number of moves, without chance events
    pub moves: usize,
    /// seed in decimal, an unsigned 64-bit integer
    pub seed: Option<String>,
    /// digest of the record, hex
    pub digest: Option<String>,
    /// JSON: the whole record
    pub record: String,
}

impl TableRow for EpisodeRow {
    const WHAT: &str = "episodes";
    const ABOUT: &str = "One row is one match. Matches that do not count are included (`counts`).";
}

/// Returns one row for each match, including matches that do not count. Also returns the records that cannot be read.
pub fn episodes(run: &Archive, records: &[&SourcedRecord]) -> (Vec<EpisodeRow>, Vec<RejectedRecord>) {
    collect_rows(records, |record, parts| Ok(vec![row(run, record, parts)?]))
}

fn row(run: &Archive, record: &Record, parts: &RecordParts) -> Result<EpisodeRow, String> {
    let (header, footer) = (&record.header, &record.footer);
    let game = ludex_games::load_with(&header.game, &header.params).map_err(|e| e.to_string())?;
    let found = run.place_of(&header.episode);
    let place = found.as_ref().map(|found| &found.place);
    let moves = record
        .events
        .iter()
        .filter(|e| matches!(e, RecordEvent::Move(m) if m.action.is_some() || m.document.is_some()));
    Ok(EpisodeRow {
        run: run.about.run.clone(),
        episode: header.episode.clone(),
        part: place.map(|place| place.part.clone()),
        pairing: found.as_ref().map(MatchPlace::pairing),
        round: place.map(|place| place.index),
        rotation: place.map(|place| place.turn),
        rematch: found.as_ref().map(|found| found.rematch),
        game: game.spec().string.clone(),
        rules: header.rules,
        rules_hash: header.hash.clone(),
        seats: document(&header.seats)?,
        started: header.started.clone(),
        ended: footer.ended.clone(),
        reason: footer.reason,
        counts: footer.reason.is_some_and(EndReason::counts),
        outcome: document(&footer.outcome)?,
        returns: document(&footer.returns)?,
        at_fault: footer.at_fault,
        moves: moves.count(),
        seed: footer.seed.clone(),
        digest: footer.digest.clone(),
        record: parts_line(parts),
    })
}
