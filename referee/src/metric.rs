//! What can be measured. Each metric has its own file, with formula, unit, source and code.
//!
//! A metric is a function of [`Rows`] and arguments, so the same formula serves records and imported tables. If there is
//! nothing to measure, the value is absent, never zero.

use std::collections::BTreeSet;

use crate::moments::Moments;
use crate::rows::{COLUMNS, Rows};

pub mod ask;
pub mod value;

mod illegal;
mod length;
mod level;
mod mirror;
mod returns;
mod score;
mod time;
mod walls;

pub use self::ask::{Args, Ask, ParamDef, Takes};
pub use self::illegal::ILLEGAL_RATE;
pub use self::length::LENGTH;
pub use self::mirror::MIRRORED_RETURN;
pub use self::returns::MEAN_RETURN;
pub use self::score::SCORE_RATE;
pub use self::time::TIME_PER_MOVE;
pub use self::value::{Edge, Graph, Matrix, Measure, Point, Quantiles, Value};
pub use self::walls::WALL_POINTS;

/// The metrics that every report of ratings shows, in its order.
pub const USUAL: &[Metric] =
    &[SCORE_RATE, MEAN_RETURN, MIRRORED_RETURN, WALL_POINTS, LENGTH, ILLEGAL_RATE, TIME_PER_MOVE];

/// All metrics, as suites, figures and tables ask for them.
pub const METRICS: &[Metric] =
    &[SCORE_RATE, MEAN_RETURN, MIRRORED_RETURN, WALL_POINTS, LENGTH, ILLEGAL_RATE, TIME_PER_MOVE, level::LEVEL];

/// A way to measure.
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
    /// What it is measured of.
    pub scope: Scope,
    /// What it takes.
    pub params: &'static [ParamDef],
    /// The measurement; `None` where there is nothing to measure.
    pub of: fn(&Rows, &Args) -> Option<Value>,
}

/// What a metric is measured of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Of one agent, or of one agent against another. It may look at the matches of all.
    Agent,
    /// Of an ordered pair of agents.
    Pair,
    /// Of all agents of a part.
    Pool,
    /// Of all parts together.
    Suite,
}

/// A metric with its arguments.
#[derive(Clone)]
pub struct Asked {
    /// The metric.
    pub metric: &'static Metric,
    /// Its arguments.
    pub args: Args,
}

impl Metric {
    /// The metric of an id.
    ///
    /// # Errors
    /// There is none, with the nearest name and all names.
    pub fn named(id: &str) -> Result<&'static Metric, String> {
        METRICS.iter().find(|metric| metric.id == id).ok_or_else(|| {
            let ids: Vec<&str> = METRICS.iter().map(|metric| metric.id).collect();
            let near = ludex_protocol::error::nearest(id, ids.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!("there is no metric {id:?}{hint} There are: {}", ids.join(", "))
        })
    }

    /// The measurement without arguments, if it is a number.
    pub fn usual(&self, rows: &Rows) -> Option<Measure> {
        (self.of)(rows, &Args::new(self.params, &Default::default()).ok()?)?.number()
    }
}

impl Asked {
    /// The metric that is asked for.
    ///
    /// # Errors
    /// An unknown metric, or arguments that it does not take.
    pub fn new(ask: &Ask) -> Result<Asked, String> {
        let metric = Metric::named(&ask.id)?;
        let args = Args::new(metric.params, &ask.args).map_err(|why| format!("metric {}: {why}", ask.id))?;
        for param in metric.params.iter().filter(|param| param.takes == Takes::Metric) {
            let Some(inner) = args.given(param.name) else { continue };
            Asked::new(&Ask::parse(inner)?)
                .map_err(|why| format!("metric {}: {} = {inner:?}: {why}", ask.id, param.name))?;
        }
        Ok(Asked { metric, args })
    }

    /// As [`new`](Self::new), from text.
    ///
    /// # Errors
    /// As [`new`](Self::new), and those of [`Ask::parse`].
    pub fn parse(text: &str) -> Result<Asked, String> {
        Asked::new(&Ask::parse(text)?)
    }

    /// The measurement; `None` where there is nothing to measure.
    pub fn of(&self, rows: &Rows) -> Option<Value> {
        (self.metric.of)(rows, &self.args)
    }

    /// The measurement, if it is a number.
    pub fn number(&self, rows: &Rows) -> Option<Measure> {
        self.of(rows)?.number()
    }

    /// The names of the marks that it needs, so that a [`Verifier`](crate::Verifier) keeps them.
    pub fn marks(&self) -> BTreeSet<String> {
        let mut out: BTreeSet<String> = self.metric.needs().iter().map(|mark| (*mark).to_owned()).collect();
        for param in self.metric.params {
            let Some(value) = self.args.given(param.name) else { continue };
            match param.takes {
                Takes::Mark if !COLUMNS.contains(&value) => out.extend([value.to_owned()]),
                Takes::Metric => out.extend(Asked::parse(value).iter().flat_map(Asked::marks)),
                _ => {}
            }
        }
        out
    }
}

impl Metric {
    /// The marks that it reads whatever its arguments are.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A number as a value.
fn number(measure: Option<Measure>) -> Option<Value> {
    measure.map(Value::Number)
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

/// The range of every number.
const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

#[cfg(test)]
mod tests;
