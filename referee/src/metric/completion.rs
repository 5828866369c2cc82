//! Completion rate: how many matches were valid.

use super::{Args, Metric, MetricScope, Value, number, share_of};
use crate::rows::Rows;

/// The matches that count, divided by all that were played for them: those that an illegal move ended and that were to be played
/// again are in the second number only.
///
/// Unit: share of matches. Source: GTBench (50 / N for the N matches that 50 valid ones took).
pub const COMPLETION: Metric = Metric {
    id: "completion",
    title: "Completion rate",
    unit: "share of matches",
    digits: 3,
    formula: "matches that count / (matches that count + matches that an illegal move ended and that were to be played again); Wilson interval",
    source: "GTBench",
    scope: MetricScope::Agent,
    params: &[],
    marks: &[],
    of: completion,
};

fn completion(rows: &Rows, _: &Args) -> Option<Value> {
    let all = rows.own_everything();
    let valid = all.iter().filter(|(game, _)| game.valid).count();
    number(share_of(valid as u64, all.len() as u64))
}
