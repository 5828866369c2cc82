//! What can be measured of an agent. Each metric has its own file, with formula, unit, source and code.
//!
//! A metric is a function of the games that an agent played, each with the agent's seat. If there is nothing to
//! measure, the metric is absent, never zero.

use serde::Serialize;

use crate::moments::Moments;
use crate::result::{GameResult, SeatResult};

mod illegal;
mod length;
mod mirror;
mod returns;
mod score;
mod time;
pub mod value;
mod walls;

pub use self::illegal::ILLEGAL_RATE;
pub use self::length::LENGTH;
pub use self::mirror::MIRRORED_RETURN;
pub use self::returns::MEAN_RETURN;
pub use self::score::SCORE_RATE;
pub use self::time::TIME_PER_MOVE;
pub use self::walls::WALL_POINTS;

/// All metrics, in the order in which reports show them.
pub const METRICS: &[Metric] =
    &[SCORE_RATE, MEAN_RETURN, MIRRORED_RETURN, WALL_POINTS, LENGTH, ILLEGAL_RATE, TIME_PER_MOVE];

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
    /// Where it comes from.
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
    /// Lower end of its 95 % interval, if the metric gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// How many things were counted.
    pub n: u64,
}

/// The mean of numbers with the interval of the normal approximation, `mean +- 1.96 s / sqrt(n)`, cut to what is possible;
/// `None` without numbers, no interval for one.
fn mean(of: &Moments, [least, most]: [f64; 2]) -> Option<Measure> {
    let (value, half) = (of.mean()?, of.half_width());
    let end = |half: Option<f64>| half.map(|half| (value + half).clamp(least.min(value), most.max(value)));
    Some(Measure { value, low: end(half.map(|h| -h)), high: end(half), n: of.count() })
}

/// The range of what cannot be negative.
const NOT_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];

#[cfg(test)]
mod tests;
