//! Constructive revisions.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, Value, number, share_of};
use crate::rows::Rows;

/// Share of revisions after negative feedback that improve the outcome: the game gives the round a greater value than
/// the round before.
pub const CNSTR: Metric = Metric {
    id: "cnstr",
    title: "Constructive revisions",
    unit: "share of revisions",
    formula: "revisions after negative feedback whose round has a greater value than the previous round / revisions after negative feedback; Wilson interval",
    source: "AdvGameBench",
    marks: MARKS,
    of: cnstr,
    ..Metric::DEFAULT
};

fn cnstr(rows: &Rows, _: &Args) -> Option<Value> {
    let (mut hits, mut n) = (0, 0);
    for course in courses(rows) {
        for (last, now) in course.steps().filter(|(last, now)| now.revised && last.negative()) {
            let Some((before, after)) = last.value.zip(now.value) else { continue };
            hits += u64::from(after > before);
            n += 1;
        }
    }
    number(share_of(hits, n))
}
