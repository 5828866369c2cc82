//! The list of standing ladders, and the table of one ladder.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use serde::{Deserialize, Serialize};

use super::match_list::ListedMatch;

/// Page that lists the standing ladders.
#[derive(Clone, Debug, Serialize)]
pub struct LadderListPage {
    pub ladders: Vec<LadderLine>,
}

/// Ladder in the list.
#[derive(Clone, Debug, Serialize)]
pub struct LadderLine {
    /// Name of the ladder.
    pub ladder: String,
    /// Display name of the game.
    pub title: String,
}

/// Page of a standing ladder.
#[derive(Clone, Debug, Serialize)]
pub struct LadderPage {
    /// Name of the ladder.
    pub name: String,
    /// Part of the ladder's table.
    pub table: LadderTable,
}

/// Part of a ladder's table, with the fields of the JSON API that the page displays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LadderTable {
    /// Display name of the game.
    #[serde(skip_deserializing)]
    pub title: String,
    pub season: Option<LadderSeason>,
    pub agents: u64,
    /// Number of counted matches.
    pub matches: u64,
    /// Number of agents in the queue, in the current season.
    pub waiting: Option<u64>,
    /// Agents, best rank first.
    pub table: Vec<LadderRow>,
    /// Offset of the next page.
    pub next: Option<u64>,
    #[serde(skip_deserializing)]
    pub live: Vec<ListedMatch>,
}

/// Season of a ladder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LadderSeason {
    /// Name of the season.
    pub name: String,
}

/// Agent in a ladder's table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LadderRow {
    /// Rank from 1; `None` for an agent without a rank.
    pub rank: Option<u64>,
    /// Name of the agent; the spec of an anchor.
    pub agent: String,
    /// True if the rating is provisional.
    pub provisional: bool,
    /// True for an anchor, which has a constant rating.
    pub anchor: bool,
    /// Rating in Elo points.
    pub rating: Option<f64>,
    /// Standard deviation of the rating.
    pub deviation: Option<f64>,
    /// Number of matches; `None` for an anchor, which has no counts.
    pub games: Option<u64>,
    pub wins: Option<u64>,
    pub draws: Option<u64>,
    pub losses: Option<u64>,
    /// Number of matches that the agent lost without having acted, or missed.
    pub absences: Option<u64>,
}
