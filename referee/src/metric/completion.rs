//! Completion rate: the share of valid matches.

use super::{Args, Metric, Value, number, share_of};
use crate::rows::Rows;

/// Number of matches that count, divided by the number of matches played. The divisor includes matches that were played
/// again because an illegal move ended them.
///
/// Source: GTBench (50 / N, where N is the number of matches played until 50 were valid).
pub const COMPLETION: Metric = Metric {
    id: "completion",
    title: "Completion rate",
    unit: "share of matches",
    formula: "valid matches / (valid matches + matches replayed because an illegal move ended them); Wilson interval",
    source: "GTBench",
    of: completion,
    ..Metric::DEFAULT
};

fn completion(rows: &Rows, _: &Args) -> Option<Value> {
    let all = rows.own_everything();
    let valid = all.iter().filter(|(game, _)| game.valid).count();
    number(share_of(valid as u64, all.len() as u64))
}
