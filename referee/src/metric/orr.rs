//! Over-revision rate.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of opportunities to revise a strategy that the agent uses; only opportunities after negative feedback count.
///
/// With `form = repo`, as in the program published with the paper: share of an agent's steps, from the second on, whose
/// cost differs from that of the previous step.
pub const ORR: Metric = Metric {
    id: "orr",
    title: "Over-revision rate",
    unit: "share",
    formula: "orr: rounds with a revised strategy after negative feedback (a loss or a violation) / rounds in which the agent could revise after negative feedback; repo: the agent's steps whose cost differs from the previous step's / the agent's steps from the second on; Wilson interval",
    source: "AdvGameBench",
    params: &[ParamDef::new("form", "orr", Takes::Words(&["orr", "repo"]), "orr: revisions; repo: changes of cost")],
    marks: MARKS,
    of: orr,
    ..Metric::DEFAULT
};

fn orr(rows: &Rows, args: &Args) -> Option<Value> {
    let (mut hits, mut n) = (0, 0);
    for course in courses(rows) {
        if args.is("form", "repo") {
            // The initial strategy, and the strategy played after each chance to revise it.
            let steps = course.rounds.iter().enumerate().filter(|(k, round)| *k == 0 || round.decided());
            let costs: Vec<f64> = steps.filter_map(|(_, round)| round.cost).collect();
            hits += costs.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
            n += costs.len().saturating_sub(1) as u64;
            continue;
        }
        let asked: Vec<_> = course.steps().filter(|(last, now)| last.negative() && now.decided()).collect();
        hits += asked.iter().filter(|(_, now)| now.revised).count() as u64;
        n += asked.len() as u64;
    }
    number(share_of(hits, n))
}
