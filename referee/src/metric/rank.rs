//! Rank among the candidates.

use super::{Args, Measurement, Metric, MetricScope, ParamDef, Takes, Value, of_candidates};
use crate::relation::ranks;
use crate::rows::Rows;

/// Rank of the agent among the candidates by another metric, 1 the best; equal values share the mean of their ranks.
///
/// Unit: ranks. Source: competition tables.
pub const RANK: Metric = Metric {
    id: "rank",
    title: "Rank",
    unit: "place",
    digits: 1,
    formula: "1 + candidates that are better + half of the others that are equal",
    source: "counts",
    scope: MetricScope::Agent,
    params: &[
        ParamDef::new("of", "value", Takes::Metric, "the metric that is compared"),
        ParamDef::new("best", "high", Takes::Words(&["high", "low"]), "which end is the best"),
    ],
    marks: &[],
    of: rank,
};

fn rank(rows: &Rows, args: &Args) -> Option<Value> {
    let all = of_candidates(rows, args.text("of"));
    let own = all.iter().position(|(agent, _)| Some(*agent) == rows.agent())?;
    let sign = if args.is("best", "low") { 1.0 } else { -1.0 };
    let places = ranks(&all.iter().map(|(_, value)| sign * value).collect::<Vec<_>>());
    Some(Value::Number(Measurement::plain(places[own], all.len() as u64)))
}
