//! Quantiles of a mark.

use super::selection::{OF, WHEN, WHERE, pick, value_of};
use super::{Args, Metric, Quantiles, Value};
use crate::rows::Rows;

/// Minimum, quartiles, maximum and mean of the values of a mark or column. Quantiles are interpolated.
///
/// Source: R. Hyndman and Y. Fan, *The American Statistician* 50, 1996, type 7, as in NumPy.
pub const QUANTILES: Metric = Metric {
    id: "quantiles",
    title: "Quantiles",
    formula: "sorted values at the positions 0, (n - 1) / 4, (n - 1) / 2, 3 (n - 1) / 4 and n - 1, interpolated linearly; and their mean",
    source: "R. Hyndman and Y. Fan, The American Statistician 50 (1996), type 7",
    params: &[OF, WHERE, WHEN],
    of: quantiles,
    ..Metric::DEFAULT
};

fn quantiles(rows: &Rows, args: &Args) -> Option<Value> {
    let picked = pick(rows, args);
    let of = picked.iter().filter_map(|p| value_of(args.text("of"), &p.seen.value));
    spread(of.filter(|value| value.is_finite()).collect()).map(Value::Quantiles)
}

fn spread(mut values: Vec<f64>) -> Option<Quantiles> {
    values.sort_by(f64::total_cmp);
    let (min, max, n) = (*values.first()?, *values.last()?, values.len());
    let at = |share: f64| {
        let place = share * (n - 1) as f64;
        let (low, part) = (values[place as usize], place.fract());
        let high = values[(place as usize + 1).min(n - 1)];
        low + part * (high - low)
    };
    let mean = values.iter().sum::<f64>() / n as f64;
    Some(Quantiles { n: n as u64, min, q1: at(0.25), median: at(0.5), q3: at(0.75), max, mean })
}

#[cfg(test)]
pub(super) fn for_tests(values: &[f64]) -> Option<Quantiles> {
    spread(values.to_vec())
}
