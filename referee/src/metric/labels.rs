//! Labels assigned to moves by people or a model.

use std::collections::{BTreeMap, BTreeSet};

use super::selection::word;
use super::{Args, Metric, Value, share_of};
use crate::rows::Rows;

/// Name of the marks that hold the labels from a label file.
pub const LABEL: &str = "label";

/// Share of each label among the labeled moves. A move may have several labels.
///
/// Source: GTBench, table 4 (its error classes).
pub const LABELS: Metric = Metric {
    id: "labels",
    title: "Labels",
    unit: "share of moves",
    formula: "moves with the label / moves with at least one label; Wilson interval",
    source: "GTBench",
    marks: &[LABEL],
    of: labels,
    ..Metric::DEFAULT
};

fn labels(rows: &Rows, _: &Args) -> Option<Value> {
    let mut moves = BTreeSet::new();
    let mut of: BTreeMap<String, BTreeSet<(usize, usize, u32)>> = BTreeMap::new();
    for seen in rows.observed(LABEL) {
        let place = (seen.game, seen.seat, seen.turn);
        moves.insert(place);
        of.entry(word(&seen.value)).or_default().insert(place);
    }
    let n = moves.len() as u64;
    let shares: Vec<_> =
        of.into_iter().filter_map(|(label, of)| Some((label, share_of(of.len() as u64, n)?))).collect();
    (!shares.is_empty()).then_some(Value::Shares(shares))
}
