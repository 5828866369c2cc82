//! What is drawn: plain numbers with their names. A drawing rounds them for people; CSV and JSON have them whole.

use serde::Serialize;

use crate::metric::Measurement;
use crate::metric::value::{Graph, Point, Quantiles};

/// What a number is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// Its name for people.
    pub title: String,
    /// Unit; empty for a plain number.
    pub unit: String,
    /// Decimals worth showing to people.
    pub digits: usize,
}

/// The data of a figure, by shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Data {
    /// Numbers by row and column.
    Grid(Grid),
    /// Numbers along lines.
    Lines(LineChart),
    /// Spreads.
    Boxes(Boxes),
    /// Points of a plane.
    Points(Points),
    /// A graph of who beat whom.
    Arrows(Arrows),
    /// Pictures in a row.
    Strip(Strip),
}

/// Numbers by row and column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Grid {
    /// What the rows are, e.g. `Agent`.
    pub corner: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// The columns.
    pub columns: Vec<GridColumn>,
    /// The numbers, row by row; nothing where nothing was measured.
    pub cells: Vec<Vec<Option<Measurement>>>,
    /// How many of the last rows are margins, e.g. a mean.
    pub margin_rows: usize,
    /// How many of the last columns are margins.
    pub margin_columns: usize,
    /// Which number of a column stands out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
}

/// Which number of a column, or which node, stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Highlight {
    /// The highest one; of a graph, the node that beat most.
    Best,
    /// The lowest one.
    Lowest,
}

/// A column of a grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GridColumn {
    /// What the column belongs to, where several columns belong together; empty without.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub under: String,
    /// Its name.
    pub name: String,
    /// What its numbers are.
    pub axis: Axis,
    /// Whether no number of it is better than another.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

impl GridColumn {
    /// Its whole name in one line.
    pub(crate) fn full(&self) -> String {
        if self.under.is_empty() { self.name.clone() } else { format!("{}: {}", self.under, self.name) }
    }
}

impl Grid {
    /// The numbers of a column without the margins.
    pub(crate) fn column(&self, at: usize) -> impl Iterator<Item = (usize, Measurement)> + '_ {
        let rows = self.cells.len() - self.margin_rows.min(self.cells.len());
        self.cells[..rows].iter().enumerate().filter_map(move |(row, cells)| Some((row, (*cells.get(at)?)?)))
    }

    /// The number of a cell.
    pub(crate) fn at(&self, row: usize, column: usize) -> Option<Measurement> {
        *self.cells.get(row)?.get(column)?
    }

    /// The best and the second-best value of a column, by the grid's highlight; equal values share a place.
    pub(crate) fn places(&self, column: usize) -> [Option<f64>; 2] {
        let judged = self.columns.get(column).is_some_and(|column| !column.plain);
        let Some(highlight) = self.highlight.filter(|_| judged) else { return [None; 2] };
        let mut values: Vec<f64> = self.column(column).map(|(_, m)| m.value).collect();
        values.sort_by(|a, b| if highlight == Highlight::Best { b.total_cmp(a) } else { a.total_cmp(b) });
        values.dedup();
        // Where all are equal nobody stands out.
        if values.len() < 2 {
            return [None; 2];
        }
        [values.first().copied(), values.get(1).copied()]
    }
}

/// Numbers along lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LineChart {
    /// What stands along.
    pub x: Axis,
    /// What stands up.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<ChartLine>,
}

/// A line with its numbers, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    /// Its name.
    pub name: String,
    /// Place and number.
    pub points: Vec<(f64, Measurement)>,
    /// Its place among the series of all pages of the figure, from 0. Colour and mark follow it.
    #[serde(skip)]
    pub series: usize,
}

/// Spreads, one below the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Boxes {
    /// What is spread.
    pub value: Axis,
    /// The spreads.
    pub boxes: Vec<NamedBox>,
}

/// A spread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedBox {
    /// Its name.
    pub name: String,
    /// Its quantiles; nothing where nothing was measured.
    pub quantiles: Option<Quantiles>,
}

/// Points of a plane, in groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Points {
    /// What stands along.
    pub x: Axis,
    /// What stands up.
    pub y: Axis,
    /// The groups; each has a colour and a mark of its own.
    pub groups: Vec<PointGroup>,
    /// How the two go together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
}

/// Points of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PointGroup {
    /// Its name; may be empty if it is the only one.
    pub name: String,
    /// Its points.
    pub points: Vec<Point>,
    /// As of a [`Line`].
    #[serde(skip)]
    pub series: usize,
}

/// How two numbers go together, over all points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fit {
    /// How many points.
    pub n: u64,
    /// Pearson's correlation.
    pub r: f64,
    /// Its two-sided p value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// A graph of who beat whom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrows {
    /// Nodes and arrows.
    #[serde(flatten)]
    pub graph: Graph,
    /// The node whose arrows stand out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlight: Option<usize>,
}

/// Pictures in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Strip {
    /// Whose match it is, and how it ended; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The pictures.
    pub pictures: Vec<StripPicture>,
}

/// A picture with its caption.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StripPicture {
    /// An `<svg>` element of a game of this program. It is put into the page as it is.
    pub svg: String,
    /// What it shows.
    pub caption: String,
}

impl Points {
    /// Whether labels tell points apart: they do not where several points of one group have the same.
    pub(crate) fn labels_differ(&self) -> bool {
        match self.groups.as_slice() {
            [only] if only.points.len() > 1 => only.points.iter().any(|p| p.label != only.points[0].label),
            _ => true,
        }
    }
}

impl Data {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match self {
            Data::Grid(grid) => grid.cells.iter().flatten().all(Option::is_none),
            Data::Lines(lines) => lines.lines.iter().all(|line| line.points.is_empty()),
            Data::Boxes(boxes) => boxes.boxes.iter().all(|b| b.quantiles.is_none()),
            Data::Points(points) => points.groups.iter().all(|group| group.points.is_empty()),
            Data::Arrows(arrows) => arrows.graph.nodes.is_empty(),
            Data::Strip(strip) => strip.pictures.is_empty(),
        }
    }
}
