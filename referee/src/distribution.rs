//! Normal and Student's t distributions.

use crate::rating::table::Z95;

/// Degrees of freedom above which the normal quantile replaces the quantile of Student's t distribution. The two
/// quantiles then agree to four decimals.
const LONG: u32 = 50_000;

/// Returns the probability that a standard normal variable is below `x`, to about 15 digits after the decimal point.
///
/// G. Marsaglia, "Evaluating the normal distribution", Journal of Statistical Software 11, 2004.
pub fn below(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut k) = (x, x, 1.0);
    loop {
        k += 2.0;
        term *= x * x / k;
        if sum + term == sum {
            break;
        }
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Returns the quantile of the standard normal distribution at `p`, by bisection; `None` unless `0 < p < 1`.
pub fn quantile(p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < p { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

/// Returns the 0.975 quantile of Student's t distribution with `freedom` degrees of freedom, by bisection.
///
/// # Panics
/// If `freedom` is 0.
pub fn student_95(freedom: u32) -> f64 {
    assert!(freedom > 0, "expected at least 1 degree of freedom, got 0");
    if freedom > LONG {
        return Z95;
    }
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central_share(middle, freedom) < 0.95 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Returns the probability that a variable with Student's distribution is at least as far from 0 as `t`.
///
/// # Panics
/// If `freedom` is 0.
pub fn student_p(t: f64, freedom: u32) -> f64 {
    assert!(freedom > 0, "expected at least 1 degree of freedom, got 0");
    if freedom > LONG {
        return 2.0 * below(-t.abs());
    }
    (1.0 - central_share(t.abs(), freedom)).max(0.0)
}

/// Returns the probability that a variable with Student's distribution lies within `-t..t`. Source: Abramowitz and
/// Stegun, 26.7.3 and 26.7.4.
fn central_share(t: f64, freedom: u32) -> f64 {
    let theta = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = theta.sin_cos();
    let odd = freedom % 2 == 1;
    // Each term is the previous term times `cosine^2 * k / (k + 1)`.
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut k = if odd { 2.0 } else { 1.0 };
    while k + 2.0 < f64::from(freedom) {
        term *= cosine * cosine * k / (k + 1.0);
        sum += term;
        k += 2.0;
    }
    if odd { (theta + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

/// Rounds `blocks` up to an integer of at least 2, because a variance cannot be estimated from one block. Returns
/// `None` unless all `parts`, the values that `blocks` was computed from, are positive and finite.
pub fn round_up<const N: usize>(blocks: f64, parts: [f64; N]) -> Option<u64> {
    let positive = parts.iter().all(|part| part.is_finite() && *part > 0.0);
    // Without the margin, a rounding error just above an integer would add a block.
    positive.then(|| (blocks - 1e-9 * blocks).ceil().max(2.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(got: f64, want: f64, within: f64) {
        assert!((got - want).abs() <= within, "{got} is not {want} +- {within}");
    }

    #[test]
    fn normal_quantiles_agree_with_published_table() {
        for (p, z) in [(0.5, 0.0), (0.8, 0.841_621), (0.9, 1.281_552), (0.975, 1.959_964), (0.999, 3.090_232)] {
            near(quantile(p).unwrap(), z, 5e-7);
            near(quantile(1.0 - p).unwrap(), -z, 5e-7);
            near(below(z), p, 1e-6);
        }
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(quantile(p), None);
        }
        assert_eq!([below(9.0), below(-9.0)], [1.0, 0.0]);
    }

    #[test]
    fn student_quantiles_agree_with_published_table() {
        // Abramowitz and Stegun, table 26.10, and others.
        for (freedom, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (29, 2.045),
            (30, 2.042),
            (60, 2.000),
            (120, 1.980),
            (50_000, 1.960),
            (50_001, 1.960),
        ] {
            near(student_95(freedom), t, 6e-4);
            near(student_p(t, freedom), 0.05, 1e-4);
            near(student_p(-t, freedom), 0.05, 1e-4);
        }
        assert_eq!(student_p(0.0, 3), 1.0);
    }
}
