//! Over-budget rate.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of proposed strategies that cost more than the budget. With `form = rounds`, share of rounds played with a
/// strategy over the budget.
pub const OBR: Metric = Metric {
    id: "obr",
    title: "Over-budget rate",
    unit: "share",
    formula: "proposals that cost more than the budget / proposals (initial strategies and revisions); rounds: rounds played over the budget / rounds; Wilson interval",
    source: "AdvGameBench",
    params: &[ParamDef::new("form", "proposals", Takes::Words(&["proposals", "rounds"]), "counted units")],
    marks: MARKS,
    of: obr,
    ..Metric::DEFAULT
};

fn obr(rows: &Rows, args: &Args) -> Option<Value> {
    let mut over = Vec::new();
    for course in courses(rows) {
        let rounds = args.is("form", "rounds");
        // The budget is the same in all rounds of a match, and also applies to the attempts before the first round.
        let budget = course.rounds.iter().find_map(|round| round.budget);
        if !rounds {
            over.extend(course.attempts.iter().filter_map(|a| Some(a.cost? > budget?)));
        }
        over.extend(course.rounds.iter().filter(|round| rounds || round.revised).filter_map(|round| round.over()));
    }
    number(share_of(over.iter().filter(|over| **over).count() as u64, over.len() as u64))
}
