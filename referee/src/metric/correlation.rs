//! Correlation of two metrics over the candidates.

use super::{Args, Measurement, Metric, MetricScope, ParamDef, Takes, Value, of_candidates};
use crate::relation::{correlation_p, pearson, spearman};
use crate::rows::Rows;

/// Correlation of two metrics over the candidates: Pearson's r, Spearman's rank correlation, or the two-sided p value
/// of one of these correlations.
///
/// `x_part` and `y_part` restrict the metrics `x` and `y` to one part each, to compare parts.
pub const CORRELATION: Metric = Metric {
    id: "correlation",
    title: "Correlation",
    unit: "-1 to 1",
    formula: "r = sum (x - mx)(y - my) / sqrt(sum (x - mx)^2 sum (y - my)^2) over candidates; spearman: r of the ranks; p: from Student's t = r sqrt((n - 2) / (1 - r^2)) with n - 2 degrees of freedom, two-sided",
    source: "K. Pearson; C. Spearman, American Journal of Psychology 15 (1904)",
    scope: MetricScope::Suite,
    params: &[
        ParamDef::new("x", "value", Takes::Metric, "first metric"),
        ParamDef::new("y", "value", Takes::Metric, "second metric"),
        ParamDef::new("x_part", "none", Takes::Text, "part to which x is restricted; none: all parts"),
        ParamDef::new("y_part", "none", Takes::Text, "part to which y is restricted; none: all parts"),
        ParamDef::new("form", "pearson", Takes::Words(&["pearson", "spearman", "p", "spearman_p"]), "statistic"),
    ],
    check: |args| {
        let [x, y] = [["x", "x_part"], ["y", "y_part"]].map(|names| names.map(|name| args.get(name)));
        match x == y {
            true => {
                Err("expected different x and y, got the same metric twice; set x and y, or x_part and y_part".into())
            }
            false => Ok(()),
        }
    },
    of: correlation,
    ..Metric::DEFAULT
};

fn correlation(rows: &Rows, args: &Args) -> Option<Value> {
    let pairs = pairs(rows, args)?;
    let n = pairs.len();
    let value = match args.text("form") {
        "spearman" => spearman(&pairs)?,
        "p" => correlation_p(pearson(&pairs)?, n)?,
        "spearman_p" => correlation_p(spearman(&pairs)?, n)?,
        _ => pearson(&pairs)?,
    };
    Some(Value::Number(Measurement::plain(value, n as u64)))
}

/// Returns the values of both metrics for each candidate that has both values.
fn pairs(rows: &Rows, args: &Args) -> Option<Vec<(f64, f64)>> {
    let of = |metric: &str, part: &str| {
        let narrowed = match args.get(part) {
            Some(part) => rows.of_all().of_part(rows.part_named(part)?),
            None => rows.of_all(),
        };
        Some(of_candidates(&narrowed, args.text(metric)))
    };
    let (x, y) = (of("x", "x_part")?, of("y", "y_part")?);
    let both = |&(agent, x): &(usize, f64)| Some((x, y.iter().find(|(other, _)| *other == agent)?.1));
    Some(x.iter().filter_map(both).collect())
}
