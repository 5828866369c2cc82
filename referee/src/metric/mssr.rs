//! Similarity of revisions.

use super::rounds::{MARKS, RoundMarks, courses};
use super::{Args, Metric, ParamDef, Takes, Value, mean, number};
use crate::rows::Rows;

/// Similarity of a revision to the previous strategy: in structure, in meaning, in function, or the mean of all three.
pub const MSSR: Metric = Metric {
    id: "mssr",
    title: "Similarity of revisions",
    unit: "0 to 1",
    formula: "mean over revisions of (structural + semantic + functional) / 3, or of the selected similarity; +- 1.96 s / sqrt(revisions)",
    source: "AdvGameBench",
    params: &[ParamDef::new(
        "of",
        "all",
        Takes::Words(&["all", "structural", "semantic", "functional"]),
        "kind of similarity; all: mean of the three kinds",
    )],
    marks: MARKS,
    of: mssr,
    ..Metric::DEFAULT
};

fn mssr(rows: &Rows, args: &Args) -> Option<Value> {
    let of = |round: &RoundMarks| {
        let [a, b, c] = round.similar;
        match args.text("of") {
            "structural" => a,
            "semantic" => b,
            "functional" => c,
            _ => Some((a? + b? + c?) / 3.0),
        }
    };
    let courses = courses(rows);
    let revised = courses.iter().flat_map(|course| &course.rounds).filter(|round| round.revised);
    number(mean(&revised.filter_map(of).collect(), [0.0, 1.0]))
}
