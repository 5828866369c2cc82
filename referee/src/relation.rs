//! Correlation and slope of lists of numbers.

use crate::distribution::student_p;

/// Returns Pearson's correlation of pairs: `sum (x - mx)(y - my) / sqrt(sum (x - mx)^2 sum (y - my)^2)`, with the means
/// `mx` and `my`. `None` for fewer than two pairs, or if all x or all y are equal.
pub fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (x, y) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let varies = sum(&|p| (p.0 - x).powi(2)) * sum(&|p| (p.1 - y).powi(2));
    (pairs.len() > 1 && varies > 1e-18).then(|| (sum(&|p| (p.0 - x) * (p.1 - y)) / varies.sqrt()).clamp(-1.0, 1.0))
}

/// Returns Spearman's rank correlation: Pearson's correlation of the ranks, where equal numbers share the mean of their
/// ranks (C. Spearman, *American Journal of Psychology* 15, 1904).
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    pearson(&ranks(&x).into_iter().zip(ranks(&y)).collect::<Vec<_>>())
}

/// Returns ranks from 1, ascending; equal numbers share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |own: f64| {
        let below = values.iter().filter(|&&other| other < own).count();
        let level = values.iter().filter(|&&other| other == own).count();
        below as f64 + (level as f64 + 1.0) / 2.0
    };
    values.iter().map(|&own| rank(own)).collect()
}

/// Returns the two-sided p value of the correlation `r` of `n` pairs: the probability of a correlation at least as
/// strong if the values are uncorrelated. `r sqrt((n - 2) / (1 - r^2))` has Student's distribution with `n - 2` degrees
/// of freedom. `None` for fewer than three pairs.
pub fn correlation_p(r: f64, n: usize) -> Option<f64> {
    let freedom = u32::try_from(n.checked_sub(2)?).ok().filter(|freedom| *freedom > 0)?;
    let left = 1.0 - r * r;
    Some(if left <= 0.0 { 0.0 } else { student_p(r * (f64::from(freedom) / left).sqrt(), freedom) })
}

/// Returns the slope of the least-squares line through `values` at x = 0, 1, 2 and so on; `None` for fewer than two
/// values.
pub fn slope(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let at = |k: usize| k as f64 - middle;
    let spread: f64 = (0..values.len()).map(|k| at(k).powi(2)).sum();
    (spread > 0.0).then(|| values.iter().enumerate().map(|(k, v)| at(k) * (v - mean)).sum::<f64>() / spread)
}

#[cfg(test)]
mod tests;
