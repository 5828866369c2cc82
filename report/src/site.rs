//! Static site of a leaderboard: suites, agents and their results, as files that a host serves and a browser opens.
//!
//! A site is a function of its reports and tables. All links are relative, and no page loads anything from elsewhere.

mod agents;
mod model_card;

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;
use serde_json::json;

use self::agents::{Entry, SiteAgents};
use crate::figure::STYLE;
use crate::page;
use crate::report::about::SiteLinks;
use crate::report::headline::Headline;
use crate::text::{measured, number};
use crate::{PROGRAM, Report};

/// Folder with the bundles of the runs, in the folder of the site.
pub const BUNDLES: &str = "bundles";
/// Folders that belong to a site and are written anew with it.
pub const FOLDERS: [&str; 4] = ["agents", "data", "suites", "transcripts"];
/// Description of a site for programs, which also marks a folder as a site.
pub const SITE: &str = "site.json";

/// Contents of a site.
#[derive(Clone, Debug, Default)]
pub struct Site {
    pub title: String,
    /// Report of each suite.
    pub suites: Vec<Report>,
    /// Files of each run for download.
    pub downloads: Vec<Downloads>,
}

/// Files of a run for download.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Downloads {
    /// Name of the run's folder.
    pub run: String,
    /// Paths of the bundle and of the tables.
    pub files: Vec<String>,
}

impl Site {
    /// Returns all pages of the site by path, with the reports of the suites and the cards of the agents.
    pub fn files(&self) -> Vec<(String, String)> {
        let folders = self.folders();
        let agents = SiteAgents::of(&self.suites, &folders);
        let boards: Vec<Board> =
            self.suites.iter().zip(&folders).map(|(report, folder)| board(report, folder, &agents)).collect();
        let mut out = vec![("index.html".to_owned(), self.index(&boards, &agents))];
        for (report, folder) in self.suites.iter().zip(&folders) {
            let links =
                SiteLinks { home: "../../index.html".to_owned(), agents: agents.pages(report, "../../agents/") };
            out.push((format!("suites/{folder}/index.html"), report.to_html_in(&links)));
            let files = report.data_files().into_iter();
            out.extend(files.map(|(name, text)| (format!("suites/{folder}/{name}"), text)));
        }
        for agent in &agents.all {
            out.push((format!("agents/{}.html", agent.slug), agents::page(agent, &self.downloads)));
            out.push((format!("agents/{}.card.md", agent.slug), model_card::card(agent)));
        }
        let runs = self.downloads.iter().map(|of| json!({ "run": of.run, "files": of.files }));
        let about = json!({
            "program": PROGRAM,
            "title": self.title,
            "suites": folders,
            "agents": agents.all.iter().map(|agent| json!({ "name": agent.name, "spec": agent.spec, "page": format!("agents/{}.html", agent.slug) })).collect::<Vec<_>>(),
            "runs": runs.collect::<Vec<_>>(),
        });
        out.push((SITE.to_owned(), format!("{about:#}\n")));
        out
    }

    /// Returns the folder of each suite: name and version, and the digest if several texts share both.
    fn folders(&self) -> Vec<String> {
        let plain = |report: &Report| {
            let run = report.runs.first();
            run.map_or_else(|| "suite".to_owned(), |run| format!("{}-v{}", agents::slug(&run.suite), run.version))
        };
        let folder = |report: &Report| {
            let name = plain(report);
            let shared = self.suites.iter().filter(|other| plain(other) == name).count() > 1;
            let digest = report.runs.first().map(|run| run.digest.get(..8).unwrap_or(&run.digest).to_owned());
            digest.filter(|_| shared).map_or_else(|| name.clone(), |digest| format!("{name}-{digest}"))
        };
        self.suites.iter().map(folder).collect()
    }

    fn index(&self, boards: &[Board], agents: &SiteAgents) -> String {
        let list = agents.all.iter().map(|agent| AgentLine {
            name: agent.name.clone(),
            href: format!("agents/{}.html", agent.slug),
            card: format!("agents/{}.card.md", agent.slug),
            spec: agent.spec.clone(),
            suites: agent.entries.iter().map(|entry| &entry.folder).collect::<BTreeSet<_>>().len(),
            namesakes: agent.namesakes,
        });
        let context = context! {
            style => Value::from_safe_string(STYLE.to_owned()),
            title => self.title.clone(),
            boards => Value::from(Serde(boards)),
            agents => Value::from(Serde(list.collect::<Vec<_>>())),
            downloads => Value::from(Serde(&self.downloads)),
            program => PROGRAM,
        };
        page::render("index.html", include_str!("site/index.html"), context)
    }
}

/// Agent in the list of the first page.
#[derive(Serialize)]
struct AgentLine {
    name: String,
    href: String,
    card: String,
    spec: String,
    /// Number of suites that the agent played.
    suites: usize,
    /// Number of agents of the site with this name.
    namesakes: usize,
}

/// Headline of a suite on the first page.
#[derive(Serialize)]
struct Board {
    /// Anchor on the first page.
    id: String,
    /// Path of the suite's page.
    href: String,
    /// Folder of the suite's files.
    folder: String,
    title: String,
    suite: String,
    version: u32,
    digest: String,
    runs: usize,
    records: usize,
    /// Title of the headline.
    caption: String,
    /// True if the first column ranks the agents.
    ranked: bool,
    /// True if some number has an interval.
    intervals: bool,
    /// Id of the figure with all numbers.
    figure: Option<String>,
    /// Columns: shared heading, name and unit.
    columns: Vec<[String; 3]>,
    rows: Vec<BoardRow>,
}

#[derive(Serialize)]
struct BoardRow {
    name: String,
    href: String,
    /// Number of agents of the site with this name.
    namesakes: usize,
    /// Number of runs of the agent in the suite.
    runs: usize,
    cells: Vec<BoardCell>,
    matches: u64,
    /// Cost in US dollars as text.
    cost: String,
}

/// Number of a board with its interval, as text.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct BoardCell {
    value: String,
    interval: Option<String>,
    n: Option<u64>,
}

/// Formats the numbers of a row of a headline.
pub(crate) fn cells(board: &Headline, at: usize) -> Vec<BoardCell> {
    let row = board.rows.get(at).map(|(_, cells)| cells.as_slice()).unwrap_or_default();
    let cell = |(cell, column): (&Option<ludex_referee::metric::Measurement>, &crate::figure::data::GridColumn)| {
        let digits = column.axis.digits;
        let Some(m) = cell else { return BoardCell { value: number(None, 0), ..BoardCell::default() } };
        let interval = m.low.zip(m.high);
        let interval = interval
            .map(|(low, high)| format!("{} \u{2026} {}", number(Some(low), digits), number(Some(high), digits)));
        BoardCell { value: measured(m, digits), interval, n: Some(m.n) }
    };
    row.iter().zip(&board.columns).map(cell).collect()
}

/// Maximum number of columns of a board on the first page. Of a wider headline, it has the first column below each heading.
const COLUMNS: usize = 8;

/// Returns true for each column of a headline that the first page shows.
fn visible_columns(headline: &Headline) -> Vec<bool> {
    let columns = &headline.columns;
    let first = |k: usize| k == 0 || columns[k].under.is_empty() || columns[k].under != columns[k - 1].under;
    (0..columns.len()).map(|k| columns.len() <= COLUMNS || first(k)).collect()
}

fn board(report: &Report, folder: &str, agents: &SiteAgents) -> Board {
    let headline = report.headline_board();
    let shown = visible_columns(&headline);
    let row = |(at, (label, _)): (usize, &(String, Vec<_>))| {
        let (agent, entry): (_, &Entry) = agents.find(folder, label)?;
        Some(BoardRow {
            name: label.clone(),
            href: format!("agents/{}.html", agent.slug),
            namesakes: agent.namesakes,
            runs: entry.runs.len(),
            cells: shown.iter().zip(cells(&headline, at)).filter_map(|(shown, cell)| shown.then_some(cell)).collect(),
            matches: entry.matches,
            cost: entry.cost.clone(),
        })
    };
    let columns = headline.columns.iter().zip(&shown).filter_map(|(column, shown)| shown.then_some(column));
    let columns = columns.map(|column| {
        let unit = Some(&column.axis.unit).filter(|unit| *unit != &column.name).cloned();
        [column.under.clone(), column.name.clone(), unit.unwrap_or_default()]
    });
    let rows: Vec<BoardRow> = headline.rows.iter().enumerate().filter_map(row).collect();
    let run = report.runs.first().cloned().unwrap_or_default();
    Board {
        id: folder.to_owned(),
        href: format!("suites/{folder}/index.html"),
        folder: format!("suites/{folder}"),
        title: if run.title.is_empty() { run.suite.clone() } else { run.title },
        suite: run.suite,
        version: run.version,
        digest: run.digest,
        runs: report.runs.len(),
        records: report.records,
        caption: headline.title.clone(),
        ranked: headline.ranked,
        intervals: rows.iter().flat_map(|row| &row.cells).any(|cell| cell.interval.is_some()),
        figure: headline.figure.clone(),
        columns: columns.collect(),
        rows,
    }
}

#[cfg(test)]
mod tests;
