//! What can be measured of an agent, one file each: formula, unit and source stand with the code.
//!
//! A metric is a function of the games that an agent played, each with the seat that it had. A metric without anything
//! to measure is absent, never zero.

use ludex_protocol::record::{MoveRecord, RecordEvent};
use serde::Serialize;

use crate::verify::Verified;

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
    pub game: &'a Verified,
    /// The agent's seat.
    pub seat: usize,
}

impl<'a> Sample<'a> {
    /// The agent's own turns, the last one too if it holds nothing but refused attempts.
    pub fn turns(&self) -> impl Iterator<Item = &'a MoveRecord> {
        let seat = self.seat as u32;
        self.game.record().events.iter().filter_map(move |event| match event {
            RecordEvent::Move(m) if m.seat == seat => Some(m),
            _ => None,
        })
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

/// The mean of numbers with the interval of the normal approximation, `mean +- 1.96 s / sqrt(n)`; no interval for one.
fn mean(values: &[f64]) -> Option<Measure> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let half = (n > 1.0).then(|| {
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        crate::rating::table::Z95 * (variance / n).sqrt()
    });
    Some(Measure { value: mean, low: half.map(|h| mean - h), high: half.map(|h| mean + h), n: values.len() as u64 })
}

#[cfg(test)]
mod tests;
