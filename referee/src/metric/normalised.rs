//! Normalized score in percent of the best.

use super::{Args, Measurement, Metric, ParamDef, Takes, Value, of_candidates};
use crate::rows::Rows;

/// Percentage `100 * raw / max`, where `raw` is the value of the metric `of`, and `max` is its maximum over the
/// candidates. Negative values become 0.
///
/// Source: LLMArena, table 1.
pub const NORMALISED: Metric = Metric {
    id: "normalised",
    title: "Normalised score",
    unit: "% of the best",
    digits: 2,
    formula: "100 * max(raw, 0) / maximum of raw over the candidates",
    source: "LLMArena",
    params: &[ParamDef::new("of", "value", Takes::Metric, "metric that supplies raw")],
    of: normalised,
    ..Metric::DEFAULT
};

fn normalised(rows: &Rows, args: &Args) -> Option<Value> {
    let all = of_candidates(rows, args.text("of"));
    let own = all.iter().find(|(agent, _)| Some(*agent) == rows.agent())?.1;
    let best = all.iter().map(|(_, raw)| *raw).fold(0.0, f64::max);
    (best > 0.0).then(|| Value::Number(Measurement::plain(100.0 * own.max(0.0) / best, all.len() as u64)))
}
