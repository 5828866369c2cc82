//! The table of a run's matches.

use ludex_protocol::record::{EndReason, Record, RecordEvent, RecordParts};
use ludex_referee::read::{RejectedRecord, SourcedRecord};
use ludex_report::runs::episode::MatchPlace;
use schemars::JsonSchema;
use serde::Serialize;

use super::record::parts_line;
use super::{TableRow, document, gather};
use crate::runs::archive::Archive;

/// A match.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EpisodeRow {
    /// name of the run
    pub run: String,
    /// name of the match
    pub episode: String,
    /// part of the suite
    pub part: Option<String>,
    /// who met, as indices of the run's agents
    pub pairing: Option<String>,
    /// number of the seed in the part, from 0
    pub round: Option<u64>,
    /// how far the seats were rotated, from 0
    pub rotation: Option<usize>,
    /// played because the first try failed
    pub rematch: Option<bool>,
    /// game with its parameters
    pub game: String,
    /// version of the rules
    pub rules: u32,
    /// hash of the game's spec
    pub rules_hash: String,
    /// JSON: name, spec and kind of the agent on each seat
    pub seats: String,
    /// when it started, UTC, RFC 3339
    pub started: String,
    /// when it ended, UTC, RFC 3339
    pub ended: Option<String>,
    /// why it ended
    #[schemars(with = "Option<String>")]
    pub reason: Option<EndReason>,
    /// whether it counts: no failure of the infrastructure
    pub counts: bool,
    /// JSON: win, loss, draw or none, by seat
    pub outcome: String,
    /// JSON: return of each seat, in the game's points
    pub returns: String,
    /// seat whose forfeit ended it
    pub at_fault: Option<u32>,
    /// moves played, without chance
    pub moves: usize,
    /// the seed, decimal (up to 64 bits without sign)
    pub seed: Option<String>,
    /// digest of the record, hex
    pub digest: Option<String>,
    /// JSON: the whole record
    pub record: String,
}

impl TableRow for EpisodeRow {
    const WHAT: &str = "episodes";
    const ABOUT: &str = "One row is one match, also those that do not count (`counts`).";
}

/// One row for each match, those that do not count among them; and the records that cannot be read.
pub fn episodes(run: &Archive, records: &[&SourcedRecord]) -> (Vec<EpisodeRow>, Vec<RejectedRecord>) {
    gather(records, |record, parts| Ok(vec![row(run, record, parts)?]))
}

fn row(run: &Archive, record: &Record, parts: &RecordParts) -> Result<EpisodeRow, String> {
    let (header, footer) = (&record.header, &record.footer);
    let game = ludex_games::load_with(&header.game, &header.params).map_err(|e| e.to_string())?;
    let found = run.place_of(&header.episode);
    let place = found.as_ref().map(|found| &found.place);
    let moves =
        record.events.iter().filter(|e| matches!(e, RecordEvent::Move(m) if m.action.is_some() || m.said.is_some()));
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
