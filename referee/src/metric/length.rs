//! Length of the agent's games.

use super::{Args, Measurement, Metric, NOT_NEGATIVE, ParamDef, Takes, Value, mean, number};
use crate::rows::Rows;

/// Number of moves per game, over all seats: the mean, or that of the shortest or the longest game. A joint move counts as one move, and chance events are excluded.
pub const LENGTH: Metric = Metric {
    id: "length",
    title: "Length",
    unit: "moves per game",
    digits: 1,
    formula: "moves of all seats / games; a joint move counts as one move, chance does not count; mean +- 1.96 s / sqrt(games); shortest: least number; longest: greatest number",
    source: "length, docs/protocol.md",
    params: &[ParamDef::new(
        "form",
        "mean",
        Takes::Words(&["mean", "shortest", "longest"]),
        "statistic over the games",
    )],
    of: length,
    ..Metric::DEFAULT
};

fn length(rows: &Rows, args: &Args) -> Option<Value> {
    let lengths: Vec<f64> = rows.samples().into_iter().filter_map(|s| s.game.moves).map(f64::from).collect();
    let n = lengths.len() as u64;
    let extreme = match args.text("form") {
        "shortest" => lengths.iter().copied().reduce(f64::min),
        "longest" => lengths.iter().copied().reduce(f64::max),
        _ => return number(mean(&lengths.into_iter().collect(), NOT_NEGATIVE)),
    };
    number(extreme.map(|value| Measurement::plain(value, n)))
}
