//! Improvement slope.

use super::rounds::{MARKS, SCOPE, SeatRounds, courses};
use super::{ANY, Args, Metric, Value, mean, number};
use crate::relation::slope as slope_of;
use crate::rows::Rows;

/// Improvement of an agent per step: the slope of wins (1 or 0) over the agent's own rounds, as a mean over matches.
pub const SLOPE: Metric = Metric {
    id: "slope",
    title: "Improvement slope",
    unit: "share per step",
    digits: 4,
    formula: "least-squares slope of the results (win 1, else 0) of the agent's rounds 0, 1, .. of a match; mean over matches +- 1.96 s / sqrt(matches)",
    source: "AdvGameBench",
    params: &[SCOPE],
    marks: MARKS,
    of: slope,
    ..Metric::DEFAULT
};

fn slope(rows: &Rows, args: &Args) -> Option<Value> {
    let of = |course: &SeatRounds| {
        let won: Vec<f64> = course.in_scope(args.text("scope")).map(|round| f64::from(u8::from(round.won))).collect();
        slope_of(&won)
    };
    number(mean(&courses(rows).iter().filter_map(of).collect(), ANY))
}
