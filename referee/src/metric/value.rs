//! Values of metrics: numbers, and data that a figure can draw.

use serde::Serialize;

use crate::rating::anchored::Bound;
use crate::rating::table::Interval;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    pub value: f64,
    /// Lower end of the 95 % interval, if the metric has an interval. With a single end, the number is a bound
    /// ([`Measurement::bound`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    pub n: u64,
}

impl Measurement {
    /// Creates a number without an interval.
    pub fn plain(value: f64, n: u64) -> Measurement {
        Measurement { value, low: None, high: None, n }
    }

    /// Creates a number from an interval, or from its end on one side if only a bound is known.
    pub fn of_interval(interval: Interval, bound: Option<Bound>, n: u64) -> Measurement {
        let Interval { value, low, high } = interval;
        match bound {
            None => Measurement { value, low: Some(low), high: Some(high), n },
            Some(Bound::Below) => Measurement { value: high, low: None, high: Some(high), n },
            Some(Bound::Above) => Measurement { value: low, low: Some(low), high: None, n },
        }
    }

    /// Returns the side of the bound, if the number is a bound.
    pub fn bound(&self) -> Option<Bound> {
        match (self.low, self.high) {
            (None, Some(_)) => Some(Bound::Below),
            (Some(_), None) => Some(Bound::Above),
            _ => None,
        }
    }
}

/// Value of a metric. The JSON form is `{"kind": "number", "value": ..}` and so on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Value {
    Number(Measurement),
    /// Number for each name.
    Shares(Vec<(String, Measurement)>),
    Quantiles(Quantiles),
    /// Number for each step, as (step, number).
    Series(Vec<(f64, Measurement)>),
    /// Points of a scatter plot.
    Points(Vec<Point>),
    Matrix(Matrix),
    /// Graph with an edge from the winner to the loser of each pair.
    Graph(Graph),
}

impl Value {
    /// Returns the number; `None` for values of other kinds.
    pub fn number(&self) -> Option<Measurement> {
        match self {
            Value::Number(measure) => Some(*measure),
            _ => None,
        }
    }
}

/// Summary of a distribution. Quantiles are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    pub n: u64,
    pub min: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    pub max: f64,
    pub mean: f64,
}

/// Point of a scatter plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Label of the point; may be empty.
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Cells as `cells[row][column]`; absent without data.
    pub cells: Vec<Vec<Option<Measurement>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    pub nodes: Vec<String>,
    pub edges: Vec<Edge>,
}

/// Edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// Index of the source node.
    pub from: usize,
    /// Index of the target node.
    pub to: usize,
    pub weight: f64,
}
