//! The list of runs, with the seasons and the suites.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::message::SuitePart;
use serde::{Deserialize, Serialize};

/// Page that lists runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunListPage {
    pub runs: Vec<RunLine>,
    pub over: Vec<RunLine>,
    /// Cursor of the next page of finished runs.
    pub next: Option<String>,
    /// Season whose runs are listed; `None` lists all runs.
    pub season: Option<SeasonName>,
    pub seasons: Vec<SeasonLine>,
    /// Suites that a person can play without other candidates.
    pub suites: Vec<SuiteOption>,
}

/// Run in the list, with the fields of the JSON API that the page displays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLine {
    /// Name of the run.
    pub run: String,
    /// Name of the suite; empty for a tournament.
    pub suite: String,
    /// Game string of a tournament.
    pub game: String,
    /// Display name of the game.
    #[serde(skip_deserializing)]
    pub title: String,
    /// Season of the run.
    pub season: Option<RunSeason>,
    /// Participants of a tournament.
    pub entrants: Vec<String>,
    pub agents: Vec<String>,
    /// Number of finished matches of an open run.
    pub done: u64,
    /// Number of remaining matches of an open run.
    pub due: u64,
    /// State of the run, as in the JSON API.
    pub state: String,
    /// State as text; see [`state_text`](super::run::state_text).
    #[serde(skip_deserializing)]
    pub state_text: &'static str,
}

/// Season of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSeason {
    /// Name of the season.
    pub name: String,
    /// True if the season is over.
    pub released: bool,
}

/// Suite and name of a season.
#[derive(Clone, Debug, Serialize)]
pub struct SeasonName {
    /// Name of the suite.
    pub suite: String,
    /// Name of the season.
    pub name: String,
}

/// Season in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeasonLine {
    /// Name of the suite.
    pub suite: String,
    /// Name of the season.
    pub season: String,
    /// Start in milliseconds since the Unix epoch.
    pub begin_ms: Option<i64>,
    /// End in milliseconds since the Unix epoch.
    pub end_ms: Option<i64>,
    /// `coming`, `open` or `over`.
    pub state: String,
}

/// Suite that a person can play without other candidates.
#[derive(Clone, Debug, Serialize)]
pub struct SuiteOption {
    /// Name of the suite.
    pub suite: String,
    /// Display name of the suite; may be empty.
    pub title: String,
    /// Maximum number of matches.
    pub matches: u64,
    /// Current season of the suite.
    pub season: Option<String>,
    /// True if the person can play the whole suite.
    pub whole: bool,
    /// Parts that the person can play.
    pub parts: Vec<SuitePart>,
}
