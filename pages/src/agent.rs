//! The page of an agent: its ratings by game and over time, the cost of its moves, its opponents and its recent
//! matches.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use serde::Serialize;

use super::curve::Curve;
use super::match_list::ListedMatch;
use super::ratings::RatingRow;

/// Page of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPage {
    /// Name of the agent.
    pub name: String,
    pub ratings: Vec<AgentRating>,
    /// True while the ratings are being computed.
    pub late: bool,
    pub opponents: Vec<OpponentLine>,
    pub matches: Vec<ListedMatch>,
    /// True if there are more matches.
    pub more: bool,
}

/// Rating of an agent on one scale.
#[derive(Clone, Debug, Serialize)]
pub struct AgentRating {
    /// Id of the game.
    pub game: String,
    /// Display name of the scale.
    pub title: String,
    /// True if this scale rates only matches with people.
    pub people: bool,
    pub row: RatingRow,
    /// Mean cost of one move.
    pub cost: MoveCost,
    /// True if any cost is known.
    pub costly: bool,
    /// Rating after each match.
    pub curve: Option<Curve>,
}

/// Mean cost of one move, where recorded.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MoveCost {
    /// Thinking time in milliseconds.
    pub ms: Option<f64>,
    pub tokens: Option<f64>,
    pub usd: Option<f64>,
}

/// Results against one opponent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OpponentLine {
    /// Name of the opponent.
    pub name: String,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// Number of matches without a win, draw or loss.
    pub other: u32,
}
