//! Lists of matches, as a page and as a part of other pages.
#![allow(missing_docs, reason = "names of views and fields say it")]

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

/// Filter of a list, as in the form. An empty text filters nothing.
#[derive(Clone, Debug, Serialize)]
pub struct MatchListFilter {
    /// Id of a game.
    pub game: String,
    /// Name of an agent.
    pub agent: String,
    /// `yes` for running matches, `no` for finished ones.
    pub live: String,
    /// `yes` for rated matches, `no` for others.
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
    /// Reason of the end; empty if the match runs, or ended by the rules.
    pub why: String,
    /// True while the match runs.
    pub live: bool,
    /// True if the match is rated.
    pub rated: bool,
    /// True if the moves are hidden until the season ends.
    pub hidden: bool,
    /// End in milliseconds since the Unix epoch.
    pub ended_ms: Option<i64>,
}

/// ListedSeat in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ListedSeat {
    /// Name of the agent.
    pub name: String,
}
