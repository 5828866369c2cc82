//! Win rate of the first round.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, Value, number, share_of};
use crate::rows::Rows;

/// Share of matches in which the initial strategy wins.
pub const INIT_WIN: Metric = Metric {
    id: "init_win",
    title: "Win rate of the first round",
    unit: "share of matches",
    formula: "matches whose first round the agent won / matches; Wilson interval",
    source: "AdvGameBench",
    marks: MARKS,
    of: init_win,
    ..Metric::DEFAULT
};

fn init_win(rows: &Rows, _: &Args) -> Option<Value> {
    let first: Vec<bool> = courses(rows).iter().filter_map(|course| Some(course.rounds.first()?.won)).collect();
    number(share_of(first.iter().filter(|won| **won).count() as u64, first.len() as u64))
}
