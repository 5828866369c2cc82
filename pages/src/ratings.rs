//! Rating tables.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_protocol::record::AgentKind;
use serde::Serialize;

/// Ratings of all agents on one scale.
#[derive(Clone, Debug, Serialize)]
pub struct RatingTable {
    /// Display name of the scale.
    pub title: String,
    pub games: usize,
    /// True if this scale rates only matches with people.
    pub people: bool,
    /// Agents, best rating first.
    pub agents: Vec<RatingRow>,
}

/// Rating of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct RatingRow {
    /// Name of the agent.
    pub name: String,
    /// Kind of the agent.
    pub kind: AgentKind,
    /// Rating in Elo points.
    pub rating: Option<f64>,
    /// Lower end of the 95% interval.
    pub low: Option<f64>,
    /// Upper end of the 95% interval.
    pub high: Option<f64>,
    /// True if the rating is fixed instead of estimated.
    pub fixed: bool,
    pub games: u64,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
}
