//! What can be measured of an agent, one file each: formula, unit and source stand with the code.
//!
//! A metric is a function of the games that an agent played, each with the seat that it had. A metric without anything
//! to measure is absent, never zero.

use serde::Serialize;

use crate::rating::table::Z95;
use crate::result::{GameResult, SeatResult};

mod illegal;
mod length;
mod returns;
mod score;
mod time;

pub use self::illegal::ILLEGAL_RATE;
pub use self::length::LENGTH;
pub use self::returns::MEAN_RETURN;
pub use self::score::SCORE_RATE;
pub use self::time::TIME_PER_MOVE;

/// All metrics, in the order in which reports show them.
pub const METRICS: &[Metric] = &[SCORE_RATE, MEAN_RETURN, LENGTH, ILLEGAL_RATE, TIME_PER_MOVE];

/// A way to measure an agent.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its name for programs.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// Decimals worth showing to people.
    pub digits: usize,
    /// How it is computed.
    pub formula: &'static str,
    /// Whose it is.
    pub source: &'static str,
    /// The measurement; `None` where there is nothing to measure.
    pub of: fn(&[Sample]) -> Option<Measure>,
}

/// A game that an agent played.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// The game.
    pub game: &'a GameResult,
    /// The agent's seat.
    pub seat: usize,
}

impl<'a> Sample<'a> {
    /// The result of the agent's seat.
    fn own(&self) -> &'a SeatResult {
        &self.game.seats[self.seat]
    }
}

/// A measured number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The estimate.
    pub value: f64,
    /// Lower end of its 95 % interval, where the metric gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// How many things were counted.
    pub n: u64,
}

/// Count, sum and spread of some numbers, without the numbers.
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

    /// Adds the numbers of another. Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the
    /// sample variance", The American Statistician 37, 1983.
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

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The mean with the interval of the normal approximation, `mean +- 1.96 s / sqrt(n)`; `None` without numbers, no
    /// interval for one.
    pub fn mean(&self) -> Option<Measure> {
        let n = self.n as f64;
        if self.n == 0 {
            return None;
        }
        let mean = self.sum / n;
        let half = (self.n > 1).then(|| Z95 * (self.spread / (n - 1.0) / n).sqrt());
        Some(Measure { value: mean, low: half.map(|h| mean - h), high: half.map(|h| mean + h), n: self.n })
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
mod tests;
