//! Agents of a site. An agent is its name and its spec, in all suites and runs.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{BoardCell, Downloads, cells};
use crate::figure::STYLE;
use crate::figure::data::GridColumn;
use crate::report::about::{HeadAgent, HeadCost};
use crate::scale::PERSON;
use crate::text::number;
use crate::{PROGRAM, Report, page};

/// Agents of a site, sorted by name and spec.
pub(super) struct SiteAgents {
    pub(super) all: Vec<SiteAgent>,
}

/// Agent with all its results.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SiteAgent {
    /// Name without the spec.
    pub(super) own_name: String,
    /// Name; the spec follows if several agents share the name.
    pub(super) name: String,
    pub(super) spec: String,
    /// Name of its files, without an extension.
    pub(super) slug: String,
    /// Number of agents with this name, including this one.
    pub(super) namesakes: usize,
    /// Results by suite and variant.
    pub(super) entries: Vec<Entry>,
}

/// Results of an agent, or of a variant of it, in a suite.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Entry {
    /// Folder of the suite below `suites`.
    pub(super) folder: String,
    pub(super) suite: String,
    pub(super) title: String,
    pub(super) version: u32,
    pub(super) digest: String,
    /// Name of the agent in the suite's report.
    pub(super) label: String,
    /// Position in a ranked headline, from 1, and the number of agents there. Equal numbers share a position.
    pub(super) rank: Option<(usize, usize)>,
    /// Title of the headline.
    pub(super) headline: String,
    /// Columns of the headline, each with its shared heading, its name and its number as text.
    pub(super) board: Vec<(String, String, BoardCell)>,
    /// Columns of the headline and their numbers.
    #[serde(skip)]
    pub(super) numbers: Vec<(GridColumn, Option<ludex_referee::metric::Measurement>)>,
    /// Rating of each part.
    #[serde(skip)]
    pub(super) ratings: BTreeMap<String, ludex_referee::metric::Measurement>,
    /// Number of matches that count.
    pub(super) matches: u64,
    /// Cost in US dollars, as text.
    pub(super) cost: String,
    pub(super) runs: Vec<EntryRun>,
}

/// Run in which the agent plays the suite.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct EntryRun {
    pub(super) run: String,
    /// Name of the run's folder.
    pub(super) folder: String,
    /// Start of the run, RFC 3339.
    pub(super) begun: String,
    pub(super) program: String,
    /// Number of the run on the page of the suite, from 1.
    pub(super) section: usize,
    /// Path of the transcripts from the page of a suite or an agent.
    pub(super) transcripts: Option<String>,
    pub(super) agent: HeadAgent,
}

impl SiteAgents {
    /// Collects the agents of the suites' reports. `folders` has the folder of each suite.
    pub(super) fn of(suites: &[Report], folders: &[String]) -> SiteAgents {
        let mut found: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
        for (report, folder) in suites.iter().zip(folders) {
            let headline = report.headline_board();
            for (at, run) in report.runs.iter().enumerate() {
                // A candidate whose variants play in its place has no results of its own.
                for agent in run.agents.iter().filter(|agent| !agent.results.is_empty()) {
                    let entries = found.entry((agent.own_name.clone(), agent.spec.clone())).or_default();
                    let known = entries.iter().position(|entry| entry.folder == *folder && entry.label == agent.name);
                    let known = known.unwrap_or_else(|| {
                        entries.push(entry(report, folder, agent, &headline));
                        entries.len() - 1
                    });
                    entries[known].runs.push(EntryRun {
                        run: run.run.clone(),
                        folder: run.folder.clone(),
                        begun: run.begun.clone(),
                        program: run.program.clone(),
                        section: at + 1,
                        transcripts: run.transcripts.as_ref().map(|path| path.replacen("../../", "../", 1)),
                        agent: agent.clone(),
                    });
                }
            }
        }
        let keys: Vec<(String, String)> = found.keys().cloned().collect();
        let agent = |((name, spec), mut entries): ((String, String), Vec<Entry>)| {
            for entry in &mut entries {
                let results = entry.runs.iter().flat_map(|run| &run.agent.results);
                entry.matches = results.map(|result| result.tally.games()).sum();
                entry.cost = cost(entry.runs.iter().filter_map(|run| run.agent.cost));
            }
            // The results of a suite stay together, those of the agent itself before its variants.
            entries.sort_by(|a, b| a.folder.cmp(&b.folder));
            let namesakes = keys.iter().filter(|other| other.0 == name).count();
            let shared = keys.iter().filter(|other| slug(&other.0) == slug(&name)).count() > 1;
            let digest = || hex::encode(Sha256::digest(format!("{name}\n{spec}")));
            let is_person = entries.iter().flat_map(|entry| &entry.runs).any(|run| run.agent.person.is_some());
            let full = if namesakes > 1 && name != spec { format!("{name} ({spec})") } else { name.clone() };
            SiteAgent {
                own_name: name.clone(),
                slug: if shared { format!("{}-{}", slug(&name), &digest()[..8]) } else { slug(&name) },
                name: if is_person { format!("{full}{PERSON}") } else { full },
                spec,
                namesakes,
                entries,
            }
        };
        SiteAgents { all: found.into_iter().map(agent).collect() }
    }

    /// Returns the agent with this label in the report of a suite.
    pub(super) fn find(&self, folder: &str, label: &str) -> Option<(&SiteAgent, &Entry)> {
        let own = |entry: &&Entry| entry.folder == folder && entry.label == label;
        self.all.iter().find_map(|agent| Some((agent, agent.entries.iter().find(own)?)))
    }

    /// Returns the paths of the agents' pages by label in the report.
    pub(super) fn pages(&self, report: &Report, before: &str) -> BTreeMap<String, String> {
        let agents = report.runs.iter().flat_map(|run| &run.agents);
        let page = |agent: &HeadAgent| {
            let own = self.all.iter().find(|other| {
                other.spec == agent.spec && other.entries.iter().any(|entry| entry.label == agent.name)
            })?;
            Some((agent.name.clone(), format!("{before}{}.html", own.slug)))
        };
        agents.filter_map(page).collect()
    }
}

fn entry(report: &Report, folder: &str, agent: &HeadAgent, headline: &crate::report::headline::Headline) -> Entry {
    let run = report.runs.first().cloned().unwrap_or_default();
    let at = headline.rows.iter().position(|(name, _)| *name == agent.name);
    let columns = headline.columns.iter().zip(at.map(|at| cells(headline, at)).unwrap_or_default());
    let board = columns.map(|(column, cell)| (column.under.clone(), column.name.clone(), cell)).collect();
    let values = |at: usize| headline.rows[at].1.iter().map(|m| m.map(|m| m.value)).collect::<Vec<_>>();
    let rank = at.filter(|_| headline.ranked).and_then(|at| (0..=at).find(|other| values(*other) == values(at)));
    let numbers = at.map(|at| headline.columns.iter().cloned().zip(headline.rows[at].1.iter().copied()).collect());
    let ratings = report.scales.iter().filter_map(|scale| {
        let row = scale.agents.iter().find(|row| row.name == agent.name)?;
        Some((scale.part.clone()?, row.measured()?))
    });
    Entry {
        folder: folder.to_owned(),
        title: if run.title.is_empty() { run.suite.clone() } else { run.title },
        suite: run.suite,
        version: run.version,
        digest: run.digest,
        label: agent.name.clone(),
        rank: rank.map(|at| (at + 1, headline.rows.len())),
        headline: headline.title.clone(),
        board,
        numbers: numbers.unwrap_or_default(),
        ratings: ratings.collect(),
        ..Entry::default()
    }
}

/// Renders the page of an agent.
pub(super) fn page(agent: &SiteAgent, downloads: &[Downloads]) -> String {
    let costs = agent.entries.iter().flat_map(|entry| &entry.runs).filter_map(|run| run.agent.cost);
    let first = agent.entries.iter().flat_map(|entry| &entry.runs).next().map(|run| run.agent.clone());
    let matches: u64 = agent.entries.iter().map(|entry| entry.matches).sum();
    let context = context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        agent => Value::from(Serde(agent)),
        first => Value::from(Serde(first.unwrap_or_default())),
        cost => cost(costs),
        matches,
        downloads => Value::from(Serde(downloads)),
        program => PROGRAM,
    };
    page::render("agent.html", include_str!("agent.html"), context)
}

/// Formats the sum of costs in US dollars: a dash without calls, and a plus sign if some calls have no known price.
pub(super) fn cost(costs: impl Iterator<Item = HeadCost>) -> String {
    let all: Vec<HeadCost> = costs.collect();
    let (calls, unpriced): (u64, u64) = (all.iter().map(|c| c.calls).sum(), all.iter().map(|c| c.unpriced).sum());
    if calls == unpriced {
        return number(None, 0);
    }
    let usd: f64 = all.iter().map(|cost| cost.usd).sum();
    let more = if unpriced > 0 { "+" } else { "" };
    format!("{}{more}", number(Some(usd), if usd >= 0.1 { 2 } else { 4 }))
}

/// Longest name of a file, in characters.
const LONGEST: usize = 60;

/// Returns a name as a part of paths: small letters, digits, `_`, `.` and `-`.
pub(super) fn slug(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(safe).take(LONGEST).collect();
    let name = name.trim_matches(['.', '_']).to_owned();
    if name.is_empty() { "agent".to_owned() } else { name }
}
