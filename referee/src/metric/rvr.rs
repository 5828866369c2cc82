//! Rule violation rate.

use super::rounds::{MARKS, SeatRounds, courses};
use super::{Args, Metric, Value, number, share_of};
use crate::rows::Rows;

/// Share of initial strategies that break a rule at the first attempt. In an imported table without attempts, the
/// strategies of the first rounds are used.
pub const RVR: Metric = Metric {
    id: "rvr",
    title: "Rule violation rate",
    unit: "share of initial strategies",
    formula: "initial strategies whose first attempt has a violation / initial strategies; Wilson interval",
    source: "AdvGameBench",
    marks: MARKS,
    of: rvr,
    ..Metric::DEFAULT
};

fn rvr(rows: &Rows, _: &Args) -> Option<Value> {
    let first = |course: &SeatRounds| {
        let tries: Vec<bool> = course.attempts.iter().filter(|a| a.attempt == 1.0).map(|a| a.violates).collect();
        if tries.is_empty() { course.rounds.first().map(|round| round.violates).into_iter().collect() } else { tries }
    };
    let all: Vec<bool> = courses(rows).iter().flat_map(first).collect();
    number(share_of(all.iter().filter(|violates| **violates).count() as u64, all.len() as u64))
}
