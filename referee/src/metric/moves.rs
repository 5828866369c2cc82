//! Number of moves in a cycle.

use super::{Args, Metric, MetricScope, NOT_NEGATIVE, Value, mean, number};
use crate::rows::Rows;

/// Number of moves in all matches of a cycle, as a mean over cycles. For a queried agent, only its matches count.
///
/// Source: Qi Town, table 1.
pub const MOVES: Metric = Metric {
    id: "moves",
    title: "Moves",
    unit: "moves per cycle",
    digits: 0,
    formula: "sum of the moves of the matches of a cycle; mean over cycles +- 1.96 s / sqrt(cycles)",
    source: "Qi Town",
    scope: MetricScope::Pool,
    of: moves,
    planned: true,
    ..Metric::DEFAULT
};

fn moves(rows: &Rows, _: &Args) -> Option<Value> {
    let of_cycle = |cycle: u64| {
        let rows = rows.of_cycle(cycle);
        let played: Option<Vec<u32>> = rows.own_matches().into_iter().map(|(game, _)| game.moves).collect();
        Some(played?.into_iter().map(f64::from).sum())
    };
    let cycles: Option<Vec<f64>> = rows.cycles().into_iter().map(of_cycle).collect();
    number(mean(&cycles?.into_iter().collect(), NOT_NEGATIVE))
}
