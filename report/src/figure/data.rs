//! Data of drawings: plain numbers with their names. Drawings round the numbers; CSV and JSON have full precision.

use ludex_referee::metric::Measurement;
use ludex_referee::metric::value::{Graph, Point, Quantiles};
use ludex_referee::suite::figure::Highlight;
use serde::Serialize;

use super::match_conditions::MatchConditions;

/// Title, unit and precision of a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    pub title: String,
    /// Unit; empty for a plain number.
    pub unit: String,
    /// Number of decimals for display.
    pub digits: usize,
}

/// Data of a figure, by shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Data {
    /// Numbers by row and column.
    Grid(Grid),
    Lines(LineChart),
    Boxes(Boxes),
    /// Points of a scatter plot or hexagonal heat map.
    Points(Points),
    /// Graph of winners and losers.
    Arrows(Arrows),
    /// Pictures in a row, one for each position.
    Strip(Strip),
}

/// Numbers by row and column.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Grid {
    /// Heading of the row labels, e.g. `Agent`.
    pub corner: String,
    pub rows: Vec<String>,
    pub columns: Vec<GridColumn>,
    /// Numbers row by row; `None` without data.
    pub cells: Vec<Vec<Option<Measurement>>>,
    /// Number of margin rows at the end, e.g. a mean.
    pub margin_rows: usize,
    /// Number of margin columns at the end.
    pub margin_columns: usize,
    /// Rule that selects the highlighted number of each column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
    /// Matches behind the numbers of each row; rows without conditions have no links.
    #[serde(skip)]
    pub row_matches: Vec<MatchConditions>,
    /// Links of the cells to their matches, which the renderer of a page sets; empty without links.
    #[serde(skip)]
    pub links: Vec<Vec<Option<String>>>,
}

/// Column of a grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GridColumn {
    /// Shared heading above the names of columns. Neighboring columns with equal headings have one common heading.
    /// Empty for a column without a shared heading.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub under: String,
    pub name: String,
    /// Title, unit and precision of the column's numbers.
    pub axis: Axis,
    /// True if the column is not ranked, so that its greatest and least numbers are not highlighted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Index of the series, equal on all pages of the figure, which determines the color; default: the column's index.
    #[serde(skip)]
    pub series: Option<usize>,
    /// Matches behind the numbers of the column.
    #[serde(skip)]
    pub matches: MatchConditions,
}

impl GridColumn {
    /// Returns the full label in one line.
    pub fn full(&self) -> String {
        if self.under.is_empty() { self.name.clone() } else { format!("{}: {}", self.under, self.name) }
    }
}

impl Grid {
    /// Returns the index of the series and the label of each column, for a legend.
    pub(crate) fn series(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.columns.iter().enumerate().map(|(c, column)| (column.series.unwrap_or(c), column.full()))
    }

    /// Returns the numbers of a column without the margins.
    pub(crate) fn column(&self, at: usize) -> impl Iterator<Item = (usize, Measurement)> + '_ {
        let rows = self.cells.len() - self.margin_rows.min(self.cells.len());
        self.cells[..rows].iter().enumerate().filter_map(move |(row, cells)| Some((row, (*cells.get(at)?)?)))
    }

    /// Sets the links of all numbers, as `link` gives them for the matches of `page`, the row and the column.
    pub(crate) fn link(&mut self, page: &MatchConditions, link: impl Fn(&MatchConditions) -> Option<String>) {
        let row = |own: &MatchConditions| {
            let rows = page.clone().and(own);
            self.columns.iter().map(|column| link(&rows.clone().and(&column.matches))).collect()
        };
        self.links = self.row_matches.iter().map(row).collect();
    }

    /// Returns the link of a cell.
    pub(crate) fn link_at(&self, row: usize, column: usize) -> Option<&str> {
        self.links.get(row)?.get(column)?.as_deref()
    }

    /// Returns all numbers with their row and column, row by row.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (usize, usize, Measurement)> + '_ {
        let places = (0..self.rows.len()).flat_map(|r| (0..self.columns.len()).map(move |c| (r, c)));
        places.filter_map(|(r, c)| Some((r, c, self.at(r, c)?)))
    }

    /// Returns the number of a cell.
    pub(crate) fn at(&self, row: usize, column: usize) -> Option<Measurement> {
        *self.cells.get(row)?.get(column)?
    }

    /// Returns the best and the second-best value of a column, as ranked by the grid's `highlight`. Equal values share
    /// a rank; bounds have none.
    pub(crate) fn places(&self, column: usize) -> [Option<f64>; 2] {
        let judged = self.columns.get(column).is_some_and(|column| !column.plain);
        let Some(highlight) = self.highlight.filter(|_| judged) else { return [None; 2] };
        let ranked = self.column(column).filter(|(_, m)| m.bound().is_none());
        let mut values: Vec<f64> = ranked.map(|(_, m)| m.value).collect();
        values.sort_by(|a, b| if highlight == Highlight::Best { b.total_cmp(a) } else { a.total_cmp(b) });
        values.dedup();
        // Without differences, nothing is highlighted.
        if values.len() < 2 {
            return [None; 2];
        }
        [values.first().copied(), values.get(1).copied()]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LineChart {
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<ChartLine>,
}

/// Line of a chart with its numbers, from left to right.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    pub name: String,
    pub points: Vec<(f64, Measurement)>,
    /// Index of the series, from 0, equal on all pages of the figure. The index determines color and mark.
    #[serde(skip)]
    pub series: usize,
}

/// Distributions, one below the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Boxes {
    /// Title, unit and precision of the numbers.
    pub value: Axis,
    pub boxes: Vec<NamedBox>,
}

/// Distribution with a label.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedBox {
    pub name: String,
    /// Quantiles; `None` without data.
    pub quantiles: Option<Quantiles>,
}

/// Points of a scatter plot or hexagonal heat map, in groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Points {
    pub x: Axis,
    pub y: Axis,
    /// Groups, each with its own color and mark.
    pub groups: Vec<PointGroup>,
    /// Correlation over all points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// True if x is a cost: its axis is logarithmic, and a line connects the points that no other point surpasses with a
    /// greater y at the same x or less.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub frontier: bool,
}

/// Points of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PointGroup {
    /// Label of the group; may be empty for a single group.
    pub name: String,
    pub points: Vec<Point>,
    /// Index of the series, which determines its color as in a line chart.
    #[serde(skip)]
    pub series: usize,
}

/// Correlation of two numbers over all points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fit {
    pub n: u64,
    pub r: f64,
    /// Two-sided p value of the correlation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// Graph of winners and losers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arrows {
    #[serde(flatten)]
    pub graph: Graph,
    /// Node with highlighted arrows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlight: Option<usize>,
}

/// Pictures in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Strip {
    /// Match and result; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub pictures: Vec<StripPicture>,
}

/// Picture with its caption.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StripPicture {
    /// Trusted `<svg>` element of a built-in game, which is inserted into the page unchanged.
    pub svg: String,
    pub caption: String,
}

impl Points {
    /// Returns true if labels identify points: no two points of the same group have equal labels.
    pub(crate) fn labels_differ(&self) -> bool {
        match self.groups.as_slice() {
            [only] if only.points.len() > 1 => only.points.iter().any(|p| p.label != only.points[0].label),
            _ => true,
        }
    }
}

impl Points {
    /// Returns the points that no other point surpasses, by ascending x.
    pub(crate) fn frontier(&self) -> impl Iterator<Item = [f64; 2]> {
        let mut points: Vec<[f64; 2]> = self.groups.iter().flat_map(|g| &g.points).map(|p| [p.x, p.y]).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(b[1].total_cmp(&a[1])));
        let mut best = f64::NEG_INFINITY;
        points.into_iter().filter(move |[_, y]| {
            let better = *y > best;
            best = best.max(*y);
            better
        })
    }
}

impl Data {
    /// Returns true if there is nothing to draw.
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
