//! Cost of the agents beside their score: a table of the cost per match, and the frontier of score against cost.

use ludex_referee::metric::value::Point;
use ludex_referee::metric::{Measurement, SCORE_RATE};

use super::Report;
use super::shares::{mean_share, scored};
use crate::figure::RenderedFigure;
use crate::figure::data::{Axis, Data, Grid, GridColumn, PointGroup, Points};
use crate::figure::match_conditions::MatchConditions;
use crate::figure::resolve::FigurePage;

pub(super) const COST: &str = "cost";
pub(super) const FRONTIER: &str = "frontier";

/// Cost of an agent per match, over the matches that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MatchCost {
    matches: u64,
    calls: f64,
    tokens_in: f64,
    tokens_out: f64,
    /// US dollars; `None` if the price of a call is unknown, and for agents without calls.
    usd: Option<f64>,
    /// Seconds of the agent's turns.
    seconds: f64,
}

impl MatchCost {
    /// Returns the cost of an agent over all runs; `None` without matches.
    fn of(report: &Report, name: &str) -> Option<MatchCost> {
        let (mut matches, mut seconds) = (0, 0.0);
        let (mut calls, mut unpriced, mut tokens, mut usd) = (0, 0, [0, 0], 0.0);
        for agent in report.runs.iter().flat_map(|run| &run.agents).filter(|agent| agent.name == name) {
            matches += agent.matches;
            seconds += agent.seconds;
            if let Some(cost) = agent.cost {
                calls += cost.calls;
                unpriced += cost.unpriced;
                tokens = [tokens[0] + cost.tokens_in, tokens[1] + cost.tokens_out];
                usd += cost.usd;
            }
        }
        let each = |sum: f64| sum / matches as f64;
        (matches > 0).then(|| MatchCost {
            matches,
            calls: each(calls as f64),
            tokens_in: each(tokens[0] as f64),
            tokens_out: each(tokens[1] as f64),
            usd: (calls > 0 && unpriced == 0).then(|| each(usd)),
            seconds: each(seconds),
        })
    }
}

/// Returns the table of costs, and the frontier if at least two agents have both a score and a cost.
pub(super) fn figures(report: &Report, agents: &[&str], rows: Vec<String>) -> Vec<RenderedFigure> {
    let parts = scored(report, agents);
    let scores: Vec<Option<Measurement>> = agents.iter().map(|name| mean_share(report, &parts, name)).collect();
    let costs: Vec<Option<MatchCost>> = agents.iter().map(|name| MatchCost::of(report, name)).collect();
    std::iter::once(table(&rows, &scores, &costs)).chain(frontier(&rows, &scores, &costs)).collect()
}

fn table(rows: &[String], scores: &[Option<Measurement>], costs: &[Option<MatchCost>]) -> RenderedFigure {
    let called = costs.iter().flatten().any(|cost| cost.calls > 0.0);
    let column = |name: &str, unit: &str, digits| GridColumn {
        name: name.to_owned(),
        axis: Axis { title: name.to_owned(), unit: unit.to_owned(), digits },
        ..GridColumn::default()
    };
    let mut columns = vec![column("Score", SCORE_RATE.unit, 2), column("Matches", "", 0), column("Seconds", "s", 2)];
    if called {
        columns.extend([column("Calls", "", 1), column("Tokens in", "", 0), column("Tokens out", "", 0)]);
        columns.push(column("Dollars", "USD", 4));
    }
    let cells = scores.iter().zip(costs).map(|(score, cost)| {
        let own = |value: fn(&MatchCost) -> Option<f64>| {
            let cost = cost.as_ref()?;
            Some(Measurement::plain(value(cost)?, cost.matches))
        };
        let calls = |value: fn(&MatchCost) -> f64| {
            let cost = cost.as_ref().filter(|cost| cost.calls > 0.0)?;
            Some(Measurement::plain(value(cost), cost.matches))
        };
        let mut cells = vec![*score, own(|cost| Some(cost.matches as f64)), own(|cost| Some(cost.seconds))];
        if called {
            cells.extend([calls(|c| c.calls), calls(|c| c.tokens_in), calls(|c| c.tokens_out), own(|cost| cost.usd)]);
        }
        cells
    });
    let grid = Grid {
        corner: "Agent".into(),
        rows: rows.to_vec(),
        row_matches: rows.iter().map(|name| MatchConditions::of_agent(name)).collect(),
        columns,
        cells: cells.collect(),
        ..Grid::default()
    };
    RenderedFigure {
        id: COST.into(),
        title: "Cost per match".into(),
        headline: false,
        kind: "table".into(),
        caption: "The mean score over all parts, and the mean cost of an agent per match that ended: the seconds of its turns, and the \
                  calls, tokens and US dollars of a language model, including matches that do not count."
            .into(),
        pages: FigurePage::only(Data::Grid(grid)),
        measures: Vec::new(),
    }
}

/// Way to measure the cost of a match: the axis, and the value.
type CostAxis = (&'static str, &'static str, fn(&MatchCost) -> Option<f64>);

/// Ways to measure the cost, by preference.
const AXES: [CostAxis; 3] = [
    ("Cost per match", "USD", |cost| cost.usd),
    ("Tokens per match", "", |cost| Some(cost.tokens_in + cost.tokens_out)),
    ("Time per match", "s", |cost| Some(cost.seconds)),
];

/// Returns the scatter plot of score against cost, by dollars if at least two agents have them, else by tokens, else by
/// time; `None` if fewer than two agents have a score and a cost.
fn frontier(rows: &[String], scores: &[Option<Measurement>], costs: &[Option<MatchCost>]) -> Option<RenderedFigure> {
    let points = |value: fn(&MatchCost) -> Option<f64>| -> Vec<Point> {
        let each = rows.iter().zip(scores).zip(costs);
        let point = |((name, score), cost): ((&String, &Option<Measurement>), &Option<MatchCost>)| {
            let x = value(cost.as_ref()?).filter(|x| *x > 0.0)?;
            Some(Point { label: name.clone(), x, y: (*score)?.value })
        };
        each.filter_map(point).collect()
    };
    let (title, unit, points) =
        AXES.into_iter().map(|(title, unit, value)| (title, unit, points(value))).find(|found| found.2.len() > 1)?;
    // Variants of an agent, such as efforts of a model, share a color.
    let mut groups: Vec<PointGroup> = Vec::new();
    for point in points {
        let agent = point.label.split(" / ").next().unwrap_or_default().to_owned();
        match groups.iter_mut().find(|group| group.name == agent) {
            Some(group) => group.points.push(point),
            None => groups.push(PointGroup { series: groups.len(), name: agent, points: vec![point] }),
        }
    }
    let axis = |title: &str, unit: &str, digits| Axis { title: title.into(), unit: unit.into(), digits };
    let data =
        Points { x: axis(title, unit, 4), y: axis("Score", SCORE_RATE.unit, 2), groups, fit: None, frontier: true };
    Some(RenderedFigure {
        id: FRONTIER.into(),
        title: "Score against cost".into(),
        headline: false,
        kind: "scatter".into(),
        caption: "The mean score of each agent over all parts, against its mean cost per match, on a logarithmic scale. The line connects \
                  the agents that no cheaper agent surpasses. Agents without this cost are omitted."
            .into(),
        pages: FigurePage::only(Data::Points(data)),
        measures: Vec::new(),
    })
}
