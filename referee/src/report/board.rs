//! What every report shows of all games together: a leaderboard, and one picture of the scores.

use super::Report;
use super::figure::Drawn;
use super::figure::data::{Axis, Column, Data, Grid, Highlight};
use super::figure::resolve::Page;
use crate::metric::{Measure, SCORE_RATE};
use crate::rating::table::Interval;
use crate::scale::{AgentRow, Scale};

/// Agents that have a bar each in every game; more are a matrix.
const BARS: usize = 4;

/// The leaderboard and the picture, if anybody was evaluated.
pub(super) fn boards(report: &Report) -> Vec<Drawn> {
    let mut agents: Vec<&str> = Vec::new();
    for agent in report.runs.iter().flat_map(|run| &run.agents) {
        if !agents.contains(&agent.name.as_str()) {
            agents.push(&agent.name);
        }
    }
    if agents.is_empty() {
        return Vec::new();
    }
    let rated = |name: &str| mean_rating(report, name).map_or(f64::NEG_INFINITY, |m| m.value);
    // A stable sort: equals stay in the order of the runs.
    agents.sort_by(|a, b| rated(b).total_cmp(&rated(a)));
    let rows: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
    vec![overall(report, &agents, &rows), leaderboard(report, &agents, rows)]
}

/// What a scale is called.
pub(super) fn name_of(scale: &Scale) -> String {
    scale.part.clone().unwrap_or_else(|| scale.title.clone())
}

fn row<'s>(scale: &'s Scale, name: &str) -> Option<&'s AgentRow> {
    scale.agents.iter().find(|agent| agent.name == name)
}

fn score(scale: &Scale, name: &str) -> Option<Measure> {
    row(scale, name)?.metrics.get(SCORE_RATE.id).copied()
}

/// The rating over all games, or the rating on the only scale.
fn mean_rating(report: &Report, name: &str) -> Option<Measure> {
    if let Some(row) = report.headline.iter().find(|row| row.name == name) {
        return Some(Measure { value: row.rating, low: row.low, high: row.high, n: row.games.len() as u64 });
    }
    let agent = report.scales.iter().filter_map(|scale| row(scale, name)).find(|agent| agent.rating.is_some())?;
    Some(Measure { value: agent.rating?, low: agent.low, high: agent.high, n: 1 })
}

fn overall(report: &Report, agents: &[&str], rows: &[String]) -> Drawn {
    let axis = Axis { title: "Score".into(), unit: SCORE_RATE.unit.into(), digits: 2 };
    let scored: Vec<&Scale> =
        report.scales.iter().filter(|s| agents.iter().any(|name| score(s, name).is_some())).collect();
    let column = |name: String| Column { name, axis: axis.clone(), ..Column::default() };
    let (kind, grid) = if agents.len() <= BARS {
        let cells = scored.iter().map(|scale| agents.iter().map(|name| score(scale, name)).collect());
        let grid = Grid {
            corner: "Game".into(),
            rows: scored.iter().map(|scale| name_of(scale)).collect(),
            columns: rows.iter().cloned().map(column).collect(),
            cells: cells.collect(),
            ..Grid::default()
        };
        ("bars", grid)
    } else {
        let cells = agents.iter().map(|name| scored.iter().map(|scale| score(scale, name)).collect());
        let grid = Grid {
            corner: "Agent".into(),
            rows: rows.to_vec(),
            columns: scored.iter().map(|scale| column(name_of(scale))).collect(),
            cells: cells.collect(),
            ..Grid::default()
        };
        ("matrix", grid)
    };
    Drawn {
        id: "overall".into(),
        title: "All games".into(),
        kind: kind.into(),
        caption: "The share of the points in each game against the opponents of the suite, with 95 % intervals. Games that cannot be won \
                  against somebody have no share."
            .into(),
        pages: vec![Page { name: String::new(), data: Data::Grid(grid) }],
        measures: Vec::new(),
    }
}

fn leaderboard(report: &Report, agents: &[&str], rows: Vec<String>) -> Drawn {
    let column = |under: &str, name: &str, digits| Column {
        under: under.to_owned(),
        name: name.to_owned(),
        axis: Axis { title: name.to_owned(), unit: String::new(), digits },
    };
    let whole = |n: u64| Some(Measure::plain(n as f64, n));
    let mut columns = vec![
        column("all games", "Rating", 0),
        column("all games", "Games", 0),
        column("all games", "Blocks for \u{b1}30", 0),
    ];
    let needed = |name: &str| {
        let each = report.scales.iter().filter_map(|scale| row(scale, name)?.blocks_for_30);
        whole(each.max()?)
    };
    let first =
        |name: &&str| vec![mean_rating(report, name), mean_rating(report, name).and_then(|m| whole(m.n)), needed(name)];
    let mut cells: Vec<Vec<Option<Measure>>> = agents.iter().map(first).collect();
    for scale in &report.scales {
        let under = name_of(scale);
        let levels: Vec<Option<Measure>> = agents.iter().map(|name| level(report, scale, name)).collect();
        let of = |interval: Interval, n| Measure {
            value: interval.value,
            low: Some(interval.low),
            high: Some(interval.high),
            n,
        };
        let ratings = agents.iter().map(|name| {
            let agent = row(scale, name)?;
            Some(of(Interval { value: agent.rating?, low: agent.low?, high: agent.high? }, agent.blocks as u64))
        });
        let scores = agents.iter().map(|name| score(scale, name));
        for (name, digits, found) in
            [("Rating", 0, ratings.collect::<Vec<_>>()), ("Score", 2, scores.collect()), ("Level", 0, levels)]
        {
            if found.iter().any(Option::is_some) {
                columns.push(column(&under, name, digits));
                cells.iter_mut().zip(found).for_each(|(cells, found)| cells.push(found));
            }
        }
    }
    Drawn {
        id: "leaderboard".into(),
        title: "Leaderboard".into(),
        kind: "table".into(),
        caption: "Ratings in Elo points with 95 % intervals; over all games it is the mean of the games. Blocks for \u{b1}30: how many \
                  blocks the game that needs most would need for an interval of 30 points to either side."
            .into(),
        pages: vec![Page {
            name: String::new(),
            data: Data::Grid(Grid {
                corner: "Agent".into(),
                rows,
                columns,
                cells,
                highlight: Some(Highlight::Best),
                ..Grid::default()
            }),
        }],
        measures: Vec::new(),
    }
}

/// The level that an agent reached in the part of a scale.
fn level(report: &Report, scale: &Scale, name: &str) -> Option<Measure> {
    let part = scale.part.as_deref()?;
    let agents = report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.name == name);
    let results = agents.flat_map(|agent| &agent.results).filter(|result| result.part == part);
    let level = results.filter_map(|result| Some((result.level?, result.tally.games()))).max()?;
    Some(Measure::plain(level.0.into(), level.1))
}
