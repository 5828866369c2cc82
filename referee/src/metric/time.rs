//! Time per move: how long the agent takes.

use super::{Args, Metric, MetricScope, NOT_NEGATIVE, Value, mean, number};
use crate::moments::Moments;
use crate::rows::Rows;

/// The mean over the agent's moves of the recorded time; turns without a move and forced moves are left out. Absent where
/// no time was taken: all that is recorded is 0 then.
///
/// Unit: milliseconds of the server's clock, network included. Source: `ms` of `docs/protocol.md`.
pub const TIME_PER_MOVE: Metric = Metric {
    id: "time_per_move",
    title: "Time per move",
    unit: "ms",
    digits: 1,
    formula: "sum of the recorded milliseconds of the agent's own moves / moves; mean +- 1.96 s / sqrt(moves)",
    source: "ms, docs/protocol.md",
    scope: MetricScope::Agent,
    params: &[],
    marks: &[],
    of: time_per_move,
};

fn time_per_move(rows: &Rows, _: &Args) -> Option<Value> {
    let mut times = Moments::default();
    rows.samples().iter().for_each(|s| times.add(&s.own().times));
    // Agents that compute in this process are not timed in runs, so that their records are the same everywhere.
    number(mean(&times, NOT_NEGATIVE).filter(|time| time.value > 0.0))
}
