//! Distinct values of a mark.

use std::collections::BTreeSet;

use super::selection::{OF, WHEN, WHERE, pick, word};
use super::{Args, Measurement, Metric, Value};
use crate::rows::Rows;

/// Number of distinct values of a mark, e.g. of scored patterns or agreed rules.
///
/// Source: BotzoneBench, table 4.
pub const DISTINCT: Metric = Metric {
    id: "distinct",
    title: "Distinct values",
    unit: "values",
    digits: 0,
    formula: "number of distinct values of the mark",
    source: "BotzoneBench",
    params: &[OF, WHERE, WHEN],
    of: distinct,
    ..Metric::DEFAULT
};

fn distinct(rows: &Rows, args: &Args) -> Option<Value> {
    let picked = pick(rows, args);
    let words: BTreeSet<String> = picked.iter().map(|p| word(&p.seen.value)).collect();
    (!words.is_empty()).then(|| Value::Number(Measurement::plain(words.len() as f64, picked.len() as u64)))
}
