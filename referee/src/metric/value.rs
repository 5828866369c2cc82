//! What a metric gives.

use serde::Serialize;

use super::Measure;

/// The value of a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(Measure),
    /// Numbers by name.
    Shares(Vec<(String, Measure)>),
    /// The spread of many numbers.
    Quantiles(Quantiles),
    /// Numbers along a line.
    Series(Vec<(f64, Measure)>),
    /// Points of a plane.
    Points(Vec<Point>),
    /// Numbers by two names.
    Matrix(Matrix),
    /// Who beat whom.
    Graph(Graph),
}

/// The spread of many numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many.
    pub n: u64,
    /// The least.
    pub min: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

/// A point of a plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Its name.
    pub label: String,
}

/// Numbers by two names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The numbers, row by row.
    pub cells: Vec<Vec<Option<Measure>>>,
}

/// Nodes with weighted arrows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The arrows.
    pub edges: Vec<Edge>,
}

/// An arrow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// Where it begins: an index of the nodes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Its weight.
    pub weight: f64,
}
