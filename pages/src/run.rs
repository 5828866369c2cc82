//! The page of one run, and the page on which a person plays a run.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use std::collections::BTreeMap;

use ludex_referee::tournament::TournamentFormat;
use serde::{Deserialize, Serialize};

use super::match_list::ListedMatch;
use super::runs::RunSeason;

/// Page of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunPage {
    /// Name of the run.
    pub run: String,
    /// Data of the run.
    pub about: RunView,
    /// Display name of the game of a tournament.
    pub title: String,
    /// Display name of the format of a tournament; see [`format_text`].
    pub format: Option<String>,
    /// State as text; see [`state_text`].
    pub state: &'static str,
    /// True if the visitor owns an agent in the open run.
    pub own: bool,
    /// Results by agent; see [`Verdict::overall`].
    pub overall: Vec<OverallLine>,
    /// Metrics of parts; see [`Verdict::figures`].
    pub figures: Vec<FigureLine>,
    pub matches: Vec<ListedMatch>,
    /// Cursor of the next page of matches.
    pub next: Option<u64>,
}

/// Run with the fields of the JSON API that its page displays.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunView {
    /// Name of the suite; empty for a tournament.
    pub suite: String,
    /// Parts of the suite that are played; empty: all parts.
    pub only: Vec<String>,
    /// Fraction of the suite that is played, above 0 and at most 1.
    pub scale: f64,
    /// Season of the run.
    pub season: Option<RunSeason>,
    /// Game string of a tournament.
    pub game: Option<String>,
    /// Format of a tournament.
    #[serde(skip_serializing)]
    pub format: Option<TournamentFormat>,
    /// Participants of a tournament.
    pub entrants: Vec<String>,
    pub agents: Vec<String>,
    /// State of the run, as in the JSON API.
    pub state: String,
    /// Number of finished matches of an open run.
    pub done: u64,
    /// Number of remaining matches of an open run.
    pub due: u64,
    /// Expected duration of the remaining matches in milliseconds.
    pub eta_ms: Option<u64>,
    /// Result of a finished run.
    pub verdict: Option<Verdict>,
    /// Standings of an open tournament.
    pub standings: Option<Standings>,
    /// Address of the report.
    pub report: Option<String>,
}

/// Result of a run: the results by part of a suite, or the standings of a tournament.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Verdict {
    /// Results by part and agent.
    pub parts: Vec<PartRow>,
    /// Mean scores over groups of parts.
    pub groups: Vec<GroupRow>,
    /// Means over several parts, as defined by the suite.
    pub summaries: Vec<SummaryRow>,
    /// Standings of a tournament.
    pub entrants: Vec<EntrantRow>,
}

/// Standings of a tournament.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Standings {
    pub entrants: Vec<EntrantRow>,
}

/// Result of an agent in a part of a suite.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartRow {
    /// Id of the part.
    pub part: String,
    /// Game string of the part.
    pub game: String,
    /// Name of the agent.
    pub agent: String,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Share of the points; `None` for a part without a score.
    pub score: Option<Estimate>,
    /// Level that the agent reached.
    pub level: Option<PartLevel>,
    /// Rating in Elo points.
    pub rating: Option<Estimate>,
    #[serde(skip_serializing)]
    pub metrics: BTreeMap<String, Estimate>,
    /// Remark on the result.
    pub note: Option<String>,
    /// Number of matches excluded after failures of the infrastructure.
    pub discarded: u64,
    /// Number of matches that do not count because an illegal move ended them.
    pub invalid: u64,
}

/// Value, with its 95% confidence interval if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimate {
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// Level that an agent reached in a part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartLevel {
    /// First level that the agent did not pass.
    pub level: u32,
    /// True if the agent passed the top level.
    pub topped: bool,
}

/// Mean score over a group of parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupRow {
    /// Name of the group.
    pub group: String,
    /// Name of the agent.
    pub agent: String,
    pub parts: u64,
    /// Mean share of the points.
    pub score: f64,
}

/// Mean over several parts, as defined by a suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Name of the mean.
    pub summary: String,
    /// Name of the agent.
    pub agent: String,
    pub parts: u64,
    pub value: f64,
}

/// Entrant in the standings of a tournament.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntrantRow {
    /// Rank from 1; `None` for an eliminated entrant.
    pub rank: Option<u64>,
    /// Name of the entrant.
    pub name: String,
    pub points: f64,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Reason for the elimination.
    pub out: Option<String>,
}

/// Results of an agent, summed over the parts of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallLine {
    /// Name of the agent.
    pub agent: String,
    /// Number of wins in scored parts.
    pub wins: u64,
    /// Number of draws in scored parts.
    pub draws: u64,
    /// Number of losses in scored parts.
    pub losses: u64,
    /// Number of matches in scored parts.
    pub matches: u64,
    /// Share of the points, from 0 to 1; `None` without a match in a scored part.
    pub share: Option<f64>,
    /// Number of matches in other parts.
    pub others: u64,
}

/// Metric of an agent in a part.
#[derive(Clone, Debug, Serialize)]
pub struct FigureLine {
    /// Id of the part.
    pub part: String,
    /// Name of the agent.
    pub agent: String,
    /// Name of the metric.
    pub figure: String,
    /// Value of the metric.
    #[serde(flatten)]
    pub value: Estimate,
}

impl Verdict {
    /// Returns the results of each candidate of a suite, summed over all scored parts, and the number of the
    /// candidate's matches in unscored parts.
    pub fn overall(&self) -> Vec<OverallLine> {
        let mut all: BTreeMap<&str, OverallLine> = BTreeMap::new();
        for row in &self.parts {
            let new = || OverallLine {
                agent: row.agent.clone(),
                wins: 0,
                draws: 0,
                losses: 0,
                matches: 0,
                share: None,
                others: 0,
            };
            let line = all.entry(&row.agent).or_insert_with(new);
            let matches = row.wins + row.draws + row.losses;
            if row.score.is_none() {
                line.others += matches;
                continue;
            }
            line.wins += row.wins;
            line.draws += row.draws;
            line.losses += row.losses;
            line.matches += matches;
        }
        let share = |line: &OverallLine| (line.wins as f64 + line.draws as f64 / 2.0) / line.matches as f64;
        all.into_values().map(|line| OverallLine { share: (line.matches > 0).then(|| share(&line)), ..line }).collect()
    }

    /// Returns the metrics of each part of a suite, one metric per line.
    pub fn figures(&self) -> Vec<FigureLine> {
        let of = |row: &PartRow, (figure, value): (&String, &Estimate)| FigureLine {
            part: row.part.clone(),
            agent: row.agent.clone(),
            figure: figure.clone(),
            value: *value,
        };
        self.parts.iter().flat_map(|row| row.metrics.iter().map(move |metric| of(row, metric))).collect()
    }
}

/// Returns the display text of a run's state, as in the JSON API.
pub fn state_text(state: &str) -> &'static str {
    match state {
        "open" => "In progress",
        "withdrawn" => "Finished: an agent withdrew",
        "deadline" => "Finished: deadline reached",
        _ => "Finished: all matches played",
    }
}

/// Returns the display text of a tournament's format.
pub fn format_text(format: TournamentFormat) -> String {
    if let TournamentFormat::Swiss { rounds } = format {
        return format!("swiss (rounds: {rounds})");
    }
    let name = serde_json::to_value(format).ok().and_then(|name| Some(name.as_str()?.replace('_', " ")));
    name.unwrap_or_default()
}

/// Page on which a person plays a run. The page's script is a client of the protocol and enrolls in the run.
#[derive(Clone, Debug, Serialize)]
pub struct RunPlayPage {
    /// Name of the run.
    pub run: String,
    /// Name of the suite; empty if the run already exists.
    pub suite: String,
    /// Part of the suite that is played; empty: all parts.
    pub only: String,
    /// Fraction of the suite that is played; `None`: the whole suite.
    pub scale: Option<f64>,
    /// Seat names by game, as JSON for the script.
    pub seats: String,
    /// Agent name of the visitor's token.
    pub agent: Option<String>,
    /// Prefix of the allowed agent names; used if the token does not specify a name.
    pub prefix: String,
    /// Shortest and longest time limit of a move in seconds over the parts; `None` if unknown.
    pub limits_s: Option<[u64; 2]>,
}

/// Page with the text that a person accepts before the first match of a run.
#[derive(Clone, Debug, Serialize)]
pub struct ConsentPage {
    pub run: String,
    /// Name of the suite; empty if the run already exists.
    pub suite: String,
    /// Text of the operator as HTML; see [`document`](super::text::document).
    pub text: String,
    /// SHA-256 of the operator's text in hex.
    pub sha256: String,
    /// Address that accepts the text.
    pub to: String,
    /// Shortest and longest time limit of a move in seconds over the parts; `None` if unknown.
    pub limits_s: Option<[u64; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_text_names_rounds_of_swiss_tournament() {
        let formats = [TournamentFormat::DoubleRoundRobin, TournamentFormat::Swiss { rounds: 5 }];
        assert_eq!(formats.map(format_text), ["double round robin", "swiss (rounds: 5)"]);
    }

    #[test]
    fn results_of_suite_parts_are_summed_by_agent() {
        let half = || Some(Estimate { value: Some(0.5), ..Estimate::default() });
        let part = |agent: &str, wins: u64, losses: u64, score: Option<Estimate>| PartRow {
            agent: agent.to_owned(),
            wins,
            draws: 1,
            losses,
            score,
            metrics: BTreeMap::from([("m".to_owned(), Estimate::default())]),
            ..PartRow::default()
        };
        let parts =
            vec![part("b", 2, 1, half()), part("a", 0, 0, None), part("b", 3, 0, half()), part("b", 7, 7, None)];
        let verdict = Verdict { parts, ..Verdict::default() };
        let line = |agent: &str, [wins, draws, losses]: [u64; 3], share: Option<f64>, others| OverallLine {
            agent: agent.to_owned(),
            wins,
            draws,
            losses,
            matches: wins + draws + losses,
            share,
            others,
        };
        assert_eq!(verdict.overall(), [line("a", [0; 3], None, 1), line("b", [5, 2, 1], Some(0.75), 15)]);
        assert_eq!(verdict.figures().len(), 4);
        assert!(Verdict::default().overall().is_empty() && Verdict::default().figures().is_empty());
    }
}
