//! Mean return.

use super::{ANY, Args, Metric, Value, mean, number};
use crate::rows::Rows;

/// Mean return of the agent's seats over games. After a forfeit, the forfeit determines the returns.
pub const MEAN_RETURN: Metric = Metric {
    id: "mean_return",
    title: "Mean return",
    unit: "the game's points",
    formula: "sum of the agent's returns / games, forfeits included; mean +- 1.96 s / sqrt(games)",
    source: "undiscounted return, as in OpenSpiel and Gymnasium",
    of: mean_return,
    ..Metric::DEFAULT
};

fn mean_return(rows: &Rows, _: &Args) -> Option<Value> {
    let samples = rows.samples();
    let spec = rows.part_of(samples.first()?.game).spec();
    let bounds = spec.map_or(ANY, |spec| [spec.min_return, spec.max_return]);
    number(mean(&samples.iter().filter_map(|s| s.own().payoff).collect(), bounds))
}
