//! The runs that a report is about: who was evaluated, how, and what it cost.

use serde::Serialize;

use crate::rating::table::{Interval, Tally};

/// A run that a report is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunHead {
    /// Its name.
    pub run: String,
    /// The program that played it.
    pub program: String,
    /// When it was begun, RFC 3339.
    pub begun: String,
    /// The suite's name.
    pub suite: String,
    /// The suite's heading.
    pub title: String,
    /// The suite's version.
    pub version: u32,
    /// The digest of its text.
    pub digest: String,
    /// Where seeds come from, in words.
    pub seeds: String,
    /// Which share of the suite was played, if not the whole, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub share: String,
    /// The agents under evaluation.
    pub agents: Vec<HeadAgent>,
    /// The means over parts that the suite asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<HeadSummary>,
    /// The file with the transcripts of its matches, beside the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcripts: Option<String>,
    /// Its matches by part, in the order of the plan.
    #[serde(skip)]
    pub matches: Vec<HeadMatch>,
}

/// An agent under evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadAgent {
    /// Its name.
    pub name: String,
    /// Its spec.
    pub spec: String,
    /// The model, its endpoint and how it is prompted; empty if it is not a language model.
    pub model: Vec<(String, String)>,
    /// What its calls cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<HeadCost>,
    /// Its results by part.
    pub results: Vec<HeadResult>,
}

/// A mean over parts, of all agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadSummary {
    /// Its name in the suite.
    pub summary: String,
    /// What it is called for people.
    pub title: String,
    /// Decimals worth showing to people.
    pub digits: usize,
    /// The mean of each agent.
    pub scores: Vec<HeadMean>,
}

/// An agent's mean over parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadMean {
    /// The agent.
    pub agent: String,
    /// Over how many parts.
    pub parts: usize,
    /// The mean.
    pub value: f64,
}

/// What calls cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HeadCost {
    /// Calls.
    pub calls: u64,
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// US dollars of the calls with a known price.
    pub usd: f64,
    /// Calls without a known price.
    pub unpriced: u64,
    /// Hours of waiting for the endpoint, summed over all calls.
    pub hours: f64,
}

/// The result of an agent in a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadResult {
    /// The part.
    pub part: String,
    /// Wins, draws and losses.
    #[serde(flatten)]
    pub tally: Tally,
    /// Its share of the points; absent in games that are not a fight.
    pub score: Option<Interval>,
    /// The last level of the ladder that it passed, if the part is a climb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// Whether that is the top level.
    pub topped: bool,
    /// Matches that it lost by answers that were not legal moves.
    pub lost_by_answers: u64,
    /// Matches that were discarded, or do not count.
    pub discarded: u64,
}

/// A match of a run, for links.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadMatch {
    /// The part.
    pub part: String,
    /// The episode, which is the name of its place in the transcripts.
    pub episode: String,
    /// The agents by seat, and how it ended.
    pub what: String,
}
