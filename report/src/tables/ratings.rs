//! Tidy table of the ratings of a run.

use ludex_referee::metric::SCORE_RATE;
use schemars::JsonSchema;
use serde::Serialize;

use super::TableRow;
use crate::scale::{AgentRow, Scale};

/// Rating of an agent on a scale.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatingRow {
    /// name of the run
    pub run: String,
    /// part of the suite
    pub part: Option<String>,
    /// name of the scale: game, rules and ladder
    pub scale: String,
    /// name of the agent; its spec follows if several agents share the name
    pub agent: String,
    /// anchored rating, Elo points
    pub rating: Option<f64>,
    /// lower end of the 95 % interval
    pub low: Option<f64>,
    /// upper end of the 95 % interval
    pub high: Option<f64>,
    /// `below` or `above` if the agent lost or won all its games, so that the rating is below `high` or above `low`
    pub bound: Option<String>,
    /// true if the rating is a constant
    pub fixed: bool,
    /// true if games connect the agent with a constant
    pub anchored: bool,
    /// sequential Elo, in the order of the plan
    pub elo: Option<f64>,
    /// mean of TrueSkill, in the order of the plan
    pub mu: Option<f64>,
    /// standard deviation of TrueSkill, in the units of `mu`
    pub sigma: Option<f64>,
    /// matches of the agent on the scale; one against itself counts once
    pub games: u64,
    /// blocks that the rating is based on; 0 for a constant
    pub blocks: usize,
    /// wins against other agents
    pub wins: u64,
    /// draws against other agents
    pub draws: u64,
    /// losses against other agents
    pub losses: u64,
    /// share of the points
    pub score: Option<f64>,
}

impl TableRow for RatingRow {
    const WHAT: &str = "ratings";
    const ABOUT: &str = "One row is one agent on one rating scale.";
}

/// Returns one row for each agent of each scale.
pub fn ratings(run: &str, scales: &[Scale]) -> Vec<RatingRow> {
    let row = |scale: &Scale, agent: &AgentRow| RatingRow {
        run: run.to_owned(),
        part: scale.part.clone(),
        scale: scale.name.clone(),
        agent: agent.name.clone(),
        rating: agent.rating,
        low: agent.low,
        high: agent.high,
        bound: agent.bound.map(|bound| bound.name().to_owned()),
        fixed: agent.fixed,
        anchored: agent.anchored,
        elo: agent.elo,
        mu: agent.mu,
        sigma: agent.sigma,
        games: agent.games,
        blocks: agent.blocks,
        wins: agent.tally.wins,
        draws: agent.tally.draws,
        losses: agent.tally.losses,
        score: agent.metrics.get(SCORE_RATE.id).map(|m| m.value),
    };
    scales.iter().flat_map(|scale| scale.agents.iter().map(move |agent| row(scale, agent))).collect()
}
