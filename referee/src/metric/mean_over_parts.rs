//! Mean of a metric over parts.

use super::{Args, Measurement, Metric, MetricQuery, MetricScope, ParamDef, Takes, Value};
use crate::rows::Rows;

/// Mean of the values of a metric over the parts in which the agent has a value, for each candidate.
pub const MEAN_OVER_PARTS: Metric = Metric {
    id: "mean_over_parts",
    title: "Mean over parts",
    formula: "sum of the values of the metric `of` over the parts with a value / number of these parts (n)",
    source: "arithmetic mean",
    scope: MetricScope::Suite,
    params: &[ParamDef::new("of", "value", Takes::Metric, "metric whose values are averaged")],
    of: mean_over_parts,
    ..Metric::DEFAULT
};

fn mean_over_parts(rows: &Rows, args: &Args) -> Option<Value> {
    // Parsing cannot fail: the metric was checked when the query that contains it was created.
    let asked = MetricQuery::parse(args.text("of")).ok()?;
    let of_agent = |agent: usize| {
        let parts = rows.parts_here().into_iter();
        let values: Vec<f64> =
            parts.filter_map(|part| Some(asked.number(&rows.of_all().of_part(part).of_agent(agent))?.value)).collect();
        let n = values.len();
        let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64)?;
        Some((rows.agents()[agent].name.clone(), Measurement::plain(mean, n as u64)))
    };
    let means: Vec<(String, Measurement)> = rows.of_all().candidates_here().into_iter().filter_map(of_agent).collect();
    (!means.is_empty()).then_some(Value::Shares(means))
}
