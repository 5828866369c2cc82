//! Overview of all games in a report: a chart of the scores, a leaderboard, and the means over parts.

use std::collections::BTreeSet;

use ludex_referee::metric::{Measurement, SCORE_RATE};
use ludex_referee::rating::table::Interval;
use ludex_referee::suite::figure::Highlight;

use super::shares::{mean_share, scored, share};
use super::{PairedDifference, Report, cost, people, wordings};
use crate::figure::RenderedFigure;
use crate::figure::data::{Axis, Data, Grid, GridColumn};
use crate::figure::match_conditions::MatchConditions;
use crate::figure::resolve::FigurePage;
use crate::scale::{AgentRow, Scale};

/// Maximum number of agents in a bar chart. For more agents, a matrix is drawn instead.
const BARS: usize = 4;

/// Id of the overview chart in reports of runs.
pub(super) const OVERALL: &str = "overall";
pub(super) const LEADERBOARD: &str = "leaderboard";
pub(super) const SUMMARIES: &str = "summaries";

/// Returns the chart, the leaderboard and the means over parts; nothing if no agents are under evaluation.
pub(super) fn boards(report: &Report, paired: PairedDifference) -> Vec<RenderedFigure> {
    let mut agents = compared(report);
    if agents.is_empty() {
        return Vec::new();
    }
    // A stable sort: equal agents remain in the order of the runs.
    let value = |measure: Option<Measurement>| measure.map_or(f64::NEG_INFINITY, |m| m.value);
    let rated = |name: &str| mean_rating(report, name).filter(|m| m.bound().is_none());
    if agents.iter().all(|name| rated(name).is_some()) {
        // A mean over fewer games is not comparable, so it comes after the others.
        let complete = |name: &str| report.headline.iter().all(|row| row.name != name || row.complete);
        agents.sort_by(|a, b| complete(b).cmp(&complete(a)).then(value(rated(b)).total_cmp(&value(rated(a)))));
    } else {
        let parts = scored(report, &agents);
        let scored = |name: &str| value(mean_share(report, &parts, name));
        agents.sort_by(|a, b| scored(b).total_cmp(&scored(a)));
    }
    let rows: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
    let mut out = vec![overall(report, &agents, &rows)];
    if report.wants_ratings() {
        out.push(leaderboard(report, &agents, rows.clone(), paired));
    }
    out.extend(people::figure(report));
    out.extend(summaries(report, &agents, rows.clone()));
    out.extend(wordings::figure(report));
    out.extend(cost::figures(report, &agents, rows));
    out
}

/// Returns the distinct agents to compare over all parts. If an agent played several parts, agents with a single part
/// are excluded: they are variants in a study that has its own figures.
fn compared(report: &Report) -> Vec<&str> {
    let mut played: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    for agent in report.runs.iter().flat_map(|run| &run.agents) {
        let parts = agent.results.iter().map(|result| result.part.as_str());
        match played.iter_mut().find(|(name, _)| *name == agent.name) {
            Some((_, known)) => known.extend(parts),
            None => played.push((&agent.name, parts.collect())),
        }
    }
    let several = played.iter().any(|(_, parts)| parts.len() > 1);
    played.into_iter().filter(|(_, parts)| !several || parts.len() > 1).map(|(name, _)| name).collect()
}

/// Returns the name of each scale: the part, followed by the parameters that differ between scales of the part.
pub(super) fn names(scales: &[Scale]) -> Vec<String> {
    let params = |scale: &Scale| -> Vec<String> {
        let list = scale.string.split_once('(').map_or("", |(_, rest)| rest.strip_suffix(')').unwrap_or(rest));
        list.split(',').map(str::to_owned).collect()
    };
    let name = |scale: &Scale| {
        let Some(part) = &scale.part else { return scale.title.clone() };
        let others = scales.iter().filter(|other| other.part == scale.part && other.string != scale.string);
        let others: Vec<Vec<String>> = others.map(params).collect();
        let own = params(scale).into_iter().filter(|own| others.iter().any(|other| !other.contains(own)));
        let own: Vec<String> = own.collect();
        if own.is_empty() { part.clone() } else { format!("{part} ({})", own.join(", ")) }
    };
    scales.iter().map(name).collect()
}

fn row<'s>(scale: &'s Scale, name: &str) -> Option<&'s AgentRow> {
    scale.agents.iter().find(|agent| agent.name == name)
}

fn score(scale: &Scale, name: &str) -> Option<Measurement> {
    row(scale, name)?.metrics.get(SCORE_RATE.id).copied()
}

/// Returns an agent's mean rating over all games, or its rating on the only scale.
pub(super) fn mean_rating(report: &Report, name: &str) -> Option<Measurement> {
    if let Some(row) = report.headline.iter().find(|row| row.name == name) {
        return Some(Measurement { value: row.rating, low: row.low, high: row.high, n: row.games.len() as u64 });
    }
    if !report.headline.is_empty() {
        return None;
    }
    let agent = report.scales.iter().filter_map(|scale| row(scale, name)).find(|agent| agent.rating.is_some())?;
    let plain = || Some(Measurement::plain(agent.rating?, 1));
    agent.measured().map(|m| Measurement { n: 1, ..m }).or_else(plain)
}

fn overall(report: &Report, agents: &[&str], rows: &[String]) -> RenderedFigure {
    let axis = Axis { title: "Score".into(), unit: SCORE_RATE.unit.into(), digits: 2 };
    let parts = scored(report, agents);
    let title = |&(suite, part): &(&str, &str)| {
        let twice = parts.iter().any(|other| other.1 == part && other.0 != suite);
        if twice { format!("{suite}: {part}") } else { part.to_owned() }
    };
    let of_parts = || parts.iter().map(|(_, part)| MatchConditions::of_part(part));
    let of_agents = || agents.iter().map(|name| MatchConditions::of_agent(name));
    let column = |(name, matches): (String, MatchConditions)| GridColumn {
        name,
        axis: axis.clone(),
        matches,
        ..GridColumn::default()
    };
    let (kind, grid) = if agents.len() <= BARS {
        let cells = parts.iter().map(|&part| agents.iter().map(|name| share(report, part, name)).collect());
        let grid = Grid {
            corner: "Part".into(),
            rows: parts.iter().map(title).collect(),
            row_matches: of_parts().collect(),
            columns: rows.iter().cloned().zip(of_agents()).map(column).collect(),
            cells: cells.collect(),
            ..Grid::default()
        };
        ("bars", grid)
    } else {
        let cells = agents.iter().map(|name| parts.iter().map(|&part| share(report, part, name)).collect());
        let grid = Grid {
            corner: "Agent".into(),
            rows: rows.to_vec(),
            row_matches: of_agents().collect(),
            columns: parts.iter().map(title).zip(of_parts()).map(column).collect(),
            cells: cells.collect(),
            ..Grid::default()
        };
        ("matrix", grid)
    };
    RenderedFigure {
        id: OVERALL.into(),
        title: "All parts".into(),
        headline: false,
        kind: kind.into(),
        caption: "The share of the points in each part, with 95 % intervals. Games without winners and losers have no share. \
                  Agents that played only one of several parts appear only in the suite's figures."
            .into(),
        pages: FigurePage::only(Data::Grid(grid)),
        measures: vec![[SCORE_RATE.title, SCORE_RATE.formula, SCORE_RATE.source].map(str::to_owned)],
    }
}

/// Returns the figure with the suites' summaries; `None` without summaries.
fn summaries(report: &Report, agents: &[&str], rows: Vec<String>) -> Option<RenderedFigure> {
    let mut columns: Vec<GridColumn> = Vec::new();
    let mut cells: Vec<Vec<Option<Measurement>>> = vec![Vec::new(); agents.len()];
    let several = report.runs.iter().any(|run| run.suite != report.runs[0].suite);
    for run in &report.runs {
        for summary in &run.summaries {
            let under = if several { run.suite.clone() } else { String::new() };
            let at = columns.iter().position(|known| known.name == summary.title && known.under == under);
            let at = at.unwrap_or_else(|| {
                let axis = Axis { title: summary.title.clone(), unit: String::new(), digits: summary.digits };
                let matches = MatchConditions { opponents: summary.opponents.clone(), ..MatchConditions::default() };
                columns.push(GridColumn { under, name: summary.title.clone(), axis, matches, ..GridColumn::default() });
                cells.iter_mut().for_each(|cells| cells.push(None));
                columns.len() - 1
            });
            for (name, cells) in agents.iter().zip(&mut cells) {
                let own = summary.scores.iter().find(|score| score.agent == *name);
                cells[at] = cells[at].or_else(|| own.map(|score| Measurement::plain(score.value, score.parts as u64)));
            }
        }
    }
    add_parts(&mut columns, &mut cells);
    let data = Data::Grid(Grid {
        corner: "Agent".into(),
        row_matches: agents.iter().map(|name| MatchConditions::of_agent(name)).collect(),
        rows,
        columns,
        cells,
        ..Grid::default()
    });
    (!data.is_empty()).then(|| RenderedFigure {
        id: SUMMARIES.into(),
        title: "Means over parts".into(),
        headline: false,
        kind: "table".into(),
        caption: "The suite's summaries: the mean of a metric over the parts in which the agent has a value.".into(),
        pages: FigurePage::only(data),
        measures: Vec::new(),
    })
}

/// Adds a column with the number of parts in each mean, if this number differs between agents.
fn add_parts(columns: &mut Vec<GridColumn>, cells: &mut [Vec<Option<Measurement>>]) {
    for at in (0..columns.len()).rev() {
        let numbers: BTreeSet<u64> = cells.iter().filter_map(|row| Some(row[at]?.n)).collect();
        if numbers.len() < 2 {
            continue;
        }
        let under = columns[at].under.clone();
        let axis = Axis { title: "Parts".into(), ..Axis::default() };
        columns.insert(at + 1, GridColumn { under, name: "Parts".into(), axis, plain: true, ..GridColumn::default() });
        for row in cells.iter_mut() {
            row.insert(at + 1, row[at].map(|m| Measurement::plain(m.n as f64, m.n)));
        }
    }
}

fn leaderboard(report: &Report, agents: &[&str], rows: Vec<String>, paired: PairedDifference) -> RenderedFigure {
    let column = |under: &str, name: &str, digits| GridColumn {
        under: under.to_owned(),
        name: name.to_owned(),
        axis: Axis { title: name.to_owned(), unit: String::new(), digits },
        plain: !["Rating", "Score"].contains(&name),
        ..GridColumn::default()
    };
    let whole = |n: u64| Some(Measurement::plain(n as f64, n));
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
    let mut cells: Vec<Vec<Option<Measurement>>> = agents.iter().map(first).collect();
    let rated = |cells: &[Vec<Option<Measurement>>]| cells.iter().map(|row| row[0]).collect::<Vec<_>>();
    columns[0].plain |= !leads(&rated(&cells), |pair| paired(None, pair.map(|k| agents[k])));
    for (scale, under) in report.scales.iter().zip(names(&report.scales)) {
        let levels: Vec<Option<Measurement>> = agents.iter().map(|name| level(report, scale, name)).collect();
        let ratings = agents.iter().map(|name| row(scale, name)?.measured());
        let shared = report.scales.iter().filter(|other| other.part == scale.part).count() > 1;
        let scores = agents.iter().map(|name| match (&scale.part, shared) {
            // As in the results: matches in which the agent was an opponent of another candidate do not count.
            (Some(part), false) => report
                .runs
                .iter()
                .find_map(|run| share(report, (&run.suite, part), name))
                .or_else(|| score(scale, name)),
            _ => score(scale, name),
        });
        for (name, digits, found) in
            [("Rating", 0, ratings.collect::<Vec<_>>()), ("Score", 2, scores.collect()), ("Level", 0, levels)]
        {
            if found.iter().any(Option::is_some) {
                let mut column = column(&under, name, digits);
                column.matches = scale.part.as_deref().map(MatchConditions::of_part).unwrap_or_default();
                column.plain |= !leads(&found, |pair| paired(scale.part.as_deref(), pair.map(|k| agents[k])));
                columns.push(column);
                cells.iter_mut().zip(found).for_each(|(cells, found)| cells.push(found));
            }
        }
    }
    RenderedFigure {
        id: LEADERBOARD.into(),
        title: "Leaderboard of all games".into(),
        headline: false,
        kind: "table".into(),
        caption: "Ratings in Elo points with 95 % intervals; over all games, the mean of the games' ratings. Of an agent that lost or \
                  won all its games, only a bound is known. The best is marked if its paired difference to the next excludes 0. \
                  Blocks for \u{b1}30: number of blocks for an interval of 30 points to either side, in the game that needs the \
                  most blocks."
            .into(),
        pages: FigurePage::only(Data::Grid(Grid {
                corner: "Agent".into(),
                row_matches: agents.iter().map(|name| MatchConditions::of_agent(name)).collect(),
                rows,
                columns,
                cells,
                highlight: Some(Highlight::Best),
                ..Grid::default()
            })),
        measures: Vec::new(),
    }
}

/// Returns true if the paired difference of the best agent of a column to the next excludes 0. Bounds have no rank.
fn leads(column: &[Option<Measurement>], paired: impl Fn([usize; 2]) -> Option<Interval>) -> bool {
    let ranked = column.iter().enumerate().filter_map(|(k, m)| Some((k, m.filter(|m| m.bound().is_none())?.value)));
    let mut ranked: Vec<(usize, f64)> = ranked.collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    match ranked.as_slice() {
        [best, next, ..] => paired([best.0, next.0]).is_some_and(|difference| difference.low > 0.0),
        _ => false,
    }
}

/// Returns the level that an agent reached in the part of a scale.
fn level(report: &Report, scale: &Scale, name: &str) -> Option<Measurement> {
    let part = scale.part.as_deref()?;
    let agents = report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.name == name);
    let results = agents.flat_map(|agent| &agent.results).filter(|result| result.part == part);
    let level = results.filter_map(|result| Some((result.level?, result.tally.games()))).max()?;
    Some(Measurement::plain(level.0.into(), level.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_different_numbers_of_parts_have_a_parts_column() {
        let column = |name: &str| GridColumn { name: name.to_owned(), ..GridColumn::default() };
        let mut columns = vec![column("NRA"), column("Elo")];
        let of = |value, n| Some(Measurement::plain(value, n));
        let mut cells = vec![vec![of(0.5, 10), of(1500.0, 3)], vec![of(0.25, 7), of(1400.0, 3)], vec![None, None]];
        add_parts(&mut columns, &mut cells);
        assert_eq!(columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["NRA", "Parts", "Elo"]);
        assert_eq!(cells[0], [of(0.5, 10), of(10.0, 10), of(1500.0, 3)]);
        assert_eq!(cells[1], [of(0.25, 7), of(7.0, 7), of(1400.0, 3)]);
        assert_eq!(cells[2], [None, None, None]);
    }
}
