//! Lists of matches, as a page and as a part of other pages.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::record::Outcome;
use serde::Serialize;

/// Page that lists matches.
#[derive(Clone, Debug, Serialize)]
pub struct MatchListPage {
    /// Listed matches, newest first.
    pub matches: Vec<ListedMatch>,
    /// Cursor of the next page.
    pub next: Option<u64>,
    /// Games that the list can be filtered by.
    pub games: Vec<GameOption>,
    pub asked: MatchListFilter,
}

/// Game that a list can be filtered by.
#[derive(Clone, Debug, Serialize)]
pub struct GameOption {
    /// Id of the game.
    pub id: String,
    /// Display name of the game.
    pub title: String,
}

/// Filter of a list, with the values of the form's fields. An empty field matches everything.
#[derive(Clone, Debug, Serialize)]
pub struct MatchListFilter {
    /// Id of a game.
    pub game: String,
    /// Name of an agent.
    pub agent: String,
    /// `yes` for running matches, `no` for finished matches.
    pub live: String,
    /// `yes` for rated matches, `no` for unrated matches.
    pub rated: String,
}

/// Match in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedMatch {
    /// Id of the match.
    #[serde(rename = "match")]
    pub id: String,
    /// Display name of the game.
    pub title: String,
    pub seats: Vec<ListedSeat>,
    /// Outcome of each seat; empty while the match runs.
    pub outcome: Vec<Outcome>,
    /// True after a draw.
    pub draw: bool,
    /// Reason for the end; empty while the match runs, or if the match ended by the rules.
    pub why: String,
    /// True while the match runs.
    pub live: bool,
    /// True if the match is rated.
    pub rated: bool,
    /// True if the moves are hidden until the season ends.
    pub hidden: bool,
    /// End time in milliseconds since the Unix epoch.
    pub ended_ms: Option<i64>,
}

/// Seat of a match in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedSeat {
    /// Name of the agent.
    pub name: String,
}
