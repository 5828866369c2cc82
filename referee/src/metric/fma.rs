//! First-mover advantage of a metric.

use super::{Args, Measurement, Metric, MetricQuery, ParamDef, Takes, Value};
use crate::rows::Rows;

/// Value of a metric over the matches in which the agent moves first, minus the value over its remaining matches.
///
/// The first mover is the seat in the game's parameter `first`, or seat 0 if the game has no such parameter.
pub const FMA: Metric = Metric {
    id: "fma",
    title: "First-mover advantage",
    formula: "metric over the matches in which the agent moves first, minus the metric over all other matches",
    source: "AdvGameBench",
    params: &[ParamDef::new("of", "score_rate", Takes::Metric, "metric to compare")],
    of: fma,
    ..Metric::DEFAULT
};

fn fma(rows: &Rows, args: &Args) -> Option<Value> {
    // Parsing cannot fail: the metric was checked when the query was created.
    let asked = MetricQuery::parse(args.text("of")).ok()?;
    let agent = rows.agent()?;
    let of = |first: bool| asked.number(&rows.filtered(|game| game.seats_of(agent).contains(&game.first) == first));
    let (first, second) = (of(true)?, of(false)?);
    Some(Value::Number(Measurement::plain(first.value - second.value, first.n + second.n)))
}
