//! Length of the agent's games.

use super::{Args, Metric, NOT_NEGATIVE, Value, mean, number};
use crate::rows::Rows;

/// Mean number of moves per game, over all seats. A joint move counts as one move, and chance events are excluded.
pub const LENGTH: Metric = Metric {
    id: "length",
    title: "Length",
    unit: "moves per game",
    digits: 1,
    formula: "moves of all seats / games; a joint move counts as one move, chance does not count; mean +- 1.96 s / sqrt(games)",
    source: "length, docs/protocol.md",
    of: length,
    ..Metric::DEFAULT
};

fn length(rows: &Rows, _: &Args) -> Option<Value> {
    let lengths = rows.samples().into_iter().filter_map(|s| s.game.moves).map(f64::from);
    number(mean(&lengths.collect(), NOT_NEGATIVE))
}
