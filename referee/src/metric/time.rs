//! Mean time per move.

use super::{Args, Metric, NOT_NEGATIVE, Value, mean, number};
use crate::moments::Moments;
use crate::rows::Rows;

/// Mean recorded time of the agent's own moves. Forced moves and turns without a move are excluded. Absent if the run
/// was not timed, because all recorded times are then 0.
pub const TIME_PER_MOVE: Metric = Metric {
    id: "time_per_move",
    title: "Time per move",
    unit: "ms",
    digits: 1,
    formula: "sum of the recorded milliseconds of the agent's own moves / moves; mean +- 1.96 s / sqrt(moves)",
    source: "ms, docs/protocol.md",
    of: time_per_move,
    ..Metric::DEFAULT
};

fn time_per_move(rows: &Rows, _: &Args) -> Option<Value> {
    let mut times = Moments::default();
    rows.samples().iter().for_each(|s| times.add(&s.own().times));
    // Runs record a time of 0 for in-process agents, so that their records are equal on every machine.
    number(mean(&times, NOT_NEGATIVE).filter(|time| time.value > 0.0))
}
