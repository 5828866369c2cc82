//! Correction success rate.

use super::rounds::{MARKS, courses};
use super::{Args, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of revisions that are followed by a win or that remove a violation. With `form = repo`, as in the program
/// published with the paper, only wins count.
pub const CSR: Metric = Metric {
    id: "csr",
    title: "Correction success rate",
    unit: "share of revisions",
    formula: "revisions followed by a won round or, with form = csr, by the end of a violation / revisions; Wilson interval",
    source: "AdvGameBench",
    params: &[ParamDef::new("form", "csr", Takes::Words(&["csr", "repo"]), "csr also counts the end of a violation")],
    marks: MARKS,
    of: csr,
    ..Metric::DEFAULT
};

fn csr(rows: &Rows, args: &Args) -> Option<Value> {
    let (mut hits, mut n) = (0, 0);
    for course in courses(rows) {
        for (last, now) in course.steps().filter(|(_, now)| now.revised) {
            let mended = args.is("form", "csr") && last.violates && !now.violates;
            hits += u64::from(now.won || mended);
            n += 1;
        }
    }
    number(share_of(hits, n))
}
