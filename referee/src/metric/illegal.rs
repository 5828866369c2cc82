//! Illegal-move rate: the share of refused attempts.

use super::{Args, Measurement, Metric, Value};
use crate::rating::table::wilson;
use crate::rows::Rows;

/// Ratio `refused attempts / all attempts`, with Wilson's interval. An attempt is an act that received `accepted` or
/// `refused`. A move that the illegal-move policy played instead of the agent is not an attempt.
pub const ILLEGAL_RATE: Metric = Metric {
    id: "illegal_rate",
    title: "Illegal moves",
    unit: "share of attempts",
    formula: "refused attempts / (refused + accepted attempts); forced moves are not attempts; Wilson interval",
    source: "tries, docs/protocol.md",
    of: illegal_rate,
    ..Metric::DEFAULT
};

fn illegal_rate(rows: &Rows, _: &Args) -> Option<Value> {
    let samples = rows.samples();
    let refused: u64 = samples.iter().map(|s| s.own().refused).sum();
    let accepted: u64 = samples.iter().map(|s| s.own().times.count()).sum();
    let n = refused + accepted;
    let i = wilson(refused as f64, n as f64)?;
    Some(Value::Number(Measurement { value: i.value, low: Some(i.low), high: Some(i.high), n }))
}
