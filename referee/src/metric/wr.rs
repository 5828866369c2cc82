//! Win rate of rounds.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of won rounds; with `by = step`, a separate share for each of the agent's own steps in a match.
pub const WR: Metric = Metric {
    id: "wr",
    title: "Win rate of rounds",
    unit: "share of rounds",
    formula: "rounds won / rounds; by = step: a rate for each number of the agent's own step in a match, from 1; Wilson interval",
    source: "AdvGameBench",
    params: &[
        ParamDef::new(
            "scope",
            "all",
            Takes::Words(&["all", "decided"]),
            "all rounds, or only rounds before which the agent could revise",
        ),
        ParamDef::new("by", "none", Takes::Words(&["step"]), "step: a series over the agent's steps in a match"),
    ],
    marks: MARKS,
    of: wr,
    ..Metric::DEFAULT
};

fn wr(rows: &Rows, args: &Args) -> Option<Value> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for course in courses(rows) {
        for (step, round) in course.in_scope(args.text("scope")).enumerate() {
            steps.resize(steps.len().max(step + 1), (0, 0));
            steps[step].0 += u64::from(round.won);
            steps[step].1 += 1;
        }
    }
    if args.is("by", "step") {
        let series = steps.iter().zip(1_u32..).filter_map(|((won, n), k)| Some((f64::from(k), share_of(*won, *n)?)));
        return Some(Value::Series(series.collect())).filter(|_| !steps.is_empty());
    }
    let (won, n) = steps.iter().fold((0, 0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
    number(share_of(won, n))
}
