//! What a metric gives: a number, or something that a figure can draw.

use serde::Serialize;

/// A measured number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
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

impl Measurement {
    /// A number without an interval.
    pub fn plain(value: f64, n: u64) -> Measurement {
        Measurement { value, low: None, high: None, n }
    }
}

/// What a metric gives. In JSON it is `{"kind": "number", "value": ..}` and so on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Value {
    /// One number.
    Number(Measurement),
    /// A number for each name.
    Shares(Vec<(String, Measurement)>),
    /// How some numbers are spread.
    Quantiles(Quantiles),
    /// A number for each step, as (step, number).
    Series(Vec<(f64, Measurement)>),
    /// Points of a plane.
    Points(Vec<Point>),
    /// A table.
    Matrix(Matrix),
    /// Who beats whom.
    Graph(Graph),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<Measurement> {
        match self {
            Value::Number(measure) => Some(*measure),
            _ => None,
        }
    }
}

/// How some numbers are spread. Between two numbers, quantiles are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many numbers.
    pub n: u64,
    /// The least.
    pub min: f64,
    /// A quarter is at most this.
    pub q1: f64,
    /// The middle.
    pub median: f64,
    /// Three quarters are at most this.
    pub q3: f64,
    /// The greatest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
}

/// A point of a plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// What it is; may be empty.
    pub label: String,
}

/// A table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The names of its rows.
    pub rows: Vec<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// `cells[row][column]`; absent where nothing was measured.
    pub cells: Vec<Vec<Option<Measurement>>>,
}

/// A directed graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// Its edges.
    pub edges: Vec<Edge>,
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The node where it begins, as an index of the nodes.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// How much it weighs.
    pub weight: f64,
}
