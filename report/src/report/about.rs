//! Descriptions of runs in a report: agents, settings and costs.

use std::collections::BTreeMap;

use ludex_referee::rating::table::{Interval, Tally};
use serde::Serialize;

/// Run in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunHead {
    pub run: String,
    /// Name of the run's folder: the run, and its shard if it is one.
    #[serde(skip)]
    pub folder: String,
    /// Program that played the run.
    pub program: String,
    /// Start of the run, RFC 3339.
    pub begun: String,
    pub suite: String,
    /// Title of the suite.
    pub title: String,
    pub version: u32,
    /// Digest of the suite's text.
    pub digest: String,
    /// Description of the seeds' origin.
    pub seeds: String,
    /// Description of the played shard; empty for the whole suite.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub share: String,
    pub agents: Vec<HeadAgent>,
    /// True if ratings are of use for the results of the suite.
    #[serde(skip)]
    pub ratings: bool,
    /// Summaries of the suite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<HeadSummary>,
    /// Folder with the transcripts of the matches, in the directory of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcripts: Option<String>,
    /// Matches of each part, with parts in the order of the plan.
    #[serde(skip)]
    pub matches: Vec<HeadMatch>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadAgent {
    /// Name in the report; its spec follows if several agents share the name.
    pub name: String,
    /// Name of the agent in its run, or of the agent of which it is a variant.
    #[serde(skip)]
    pub own_name: String,
    /// Name of the agent in the records of its run, with its variant.
    #[serde(skip)]
    pub record_name: String,
    pub spec: String,
    /// Model, endpoint and prompt settings; empty if the agent is not a language model.
    pub model: Vec<(String, String)>,
    /// Name of the agent without the wording, and the wording, if the agent is a paraphrase of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wording: Option<[String; 2]>,
    /// Number of matches that ended.
    pub matches: u64,
    /// Seconds of the agent's turns, summed over all matches that ended.
    pub seconds: f64,
    /// Moves of a person; absent for other agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<HeadPerson>,
    /// Cost of the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<HeadCost>,
    pub results: Vec<HeadResult>,
}

/// Moves of a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadPerson {
    /// Number of moves that the person chose; forced moves are excluded.
    pub moves: u64,
    /// Median time of these moves in seconds; absent without moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_s: Option<f64>,
    /// Times of the moves in milliseconds.
    #[serde(skip)]
    pub times_ms: Vec<u64>,
}

impl HeadPerson {
    /// Creates the description of a person's moves from their times in milliseconds.
    pub fn of(times_ms: Vec<u64>) -> HeadPerson {
        let seconds: Vec<f64> = times_ms.iter().map(|&ms| ms as f64 / 1e3).collect();
        HeadPerson { moves: times_ms.len() as u64, median_s: median(seconds), times_ms }
    }
}

/// Returns the median of numbers; `None` without numbers.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[half - 1], upper) })
}

/// Mean of a metric over parts, for all agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadSummary {
    /// Id of the summary in the suite.
    pub summary: String,
    pub title: String,
    /// Number of decimals for display.
    pub digits: usize,
    /// Names of the opponents whose matches the mean covers; empty for all.
    #[serde(skip)]
    pub opponents: Vec<String>,
    /// Mean of each agent.
    pub scores: Vec<HeadMean>,
}

/// Mean of a metric over parts, for one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadMean {
    pub agent: String,
    /// Number of parts in the mean.
    pub parts: usize,
    pub value: f64,
}

/// Cost of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HeadCost {
    pub calls: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// US dollars of the calls with a known price.
    pub usd: f64,
    /// Number of calls without a known price.
    pub unpriced: u64,
    /// Hours spent waiting for the endpoint, summed over all calls.
    pub hours: f64,
}

/// Result of an agent in a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadResult {
    pub part: String,
    #[serde(flatten)]
    pub tally: Tally,
    /// Share of points; absent in noncompetitive games.
    pub score: Option<Interval>,
    /// Last passed level of the ladder, if the part is played on a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// True if `level` is the top level of the ladder.
    pub topped: bool,
    /// Number of matches lost because of replies that were not legal moves.
    pub lost_by_answers: u64,
    /// Number of matches that were discarded or do not count.
    pub discarded: u64,
}

/// Match of a run, for links to its transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadMatch {
    pub part: String,
    /// Episode name, which is also the anchor in the transcripts.
    pub episode: String,
    /// Agents by seat, and the result.
    pub what: String,
}

/// Links from the page of a report to the other pages of its site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SiteLinks {
    /// Path of the site's first page.
    pub home: String,
    /// Path of each agent's page, by the agent's name in the report.
    pub agents: BTreeMap<String, String>,
}
