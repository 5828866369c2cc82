//! Running mean and variance without storing the numbers.

use crate::rating::table::Z95;

/// Count, sum and variance of a list of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    sum: f64,
    /// Sum of the squared distances from the mean.
    spread: f64,
}

impl Moments {
    /// Adds a number. Source of the update: B. P. Welford, "Note on a method for calculating corrected sums of squares
    /// and products", Technometrics 4, 1962.
    pub fn push(&mut self, value: f64) {
        self.add(&Moments { n: 1, sum: value, spread: 0.0 });
    }

    /// Merges the moments of a second list of numbers. Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms
    /// for computing the sample variance", The American Statistician 37, 1983.
    pub fn add(&mut self, other: &Moments) {
        if self.n > 0 && other.n > 0 {
            let (n, m) = (self.n as f64, other.n as f64);
            let gap = other.sum / m - self.sum / n;
            self.spread += gap * gap * n * m / (n + m);
        }
        self.spread += other.spread;
        self.sum += other.sum;
        self.n += other.n;
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    pub fn count(&self) -> u64 {
        self.n
    }

    /// Returns the mean; `None` without numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    /// Returns half the width of the 95 % interval of the mean: `1.96 s / sqrt(n)`, by the normal approximation. The
    /// standard deviation `s` of the `n` numbers is `sqrt(spread / (n - 1))`. `None` for fewer than two numbers.
    pub fn half_width(&self) -> Option<f64> {
        let n = self.n as f64;
        (self.n > 1).then(|| Z95 * (self.spread / (n - 1.0) / n).sqrt())
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_moments_equal_moments_of_all_values() {
        // Far from zero, a variance computed from the sum of squares would lose all precision.
        let values: Vec<f64> = (0..1000).map(|k| 1e9 + f64::from(k * k % 71)).collect();
        let all: Moments = values.iter().copied().collect();
        let mut parts = Moments::default();
        values.chunks(7).for_each(|chunk| parts.add(&chunk.iter().copied().collect()));
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let half = Z95 * (spread / (n - 1.0) / n).sqrt();
        for moments in [all, parts] {
            assert_eq!((moments.mean(), moments.count()), (Some(mean), 1000));
            assert!((moments.half_width().unwrap() - half).abs() < 1e-6 * half, "{moments:?}");
        }
        assert_eq!((Moments::default().mean(), Moments::default().half_width()), (None, None));
    }
}
