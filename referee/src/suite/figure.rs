//! Figures of suites: kinds and specs.

use std::collections::{BTreeMap, BTreeSet};

use ludex_protocol::error::did_you_mean;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::VariantNames as _;

use super::selection::MatchSelection;
use crate::metric::{MetricQuery, MetricSpec};

/// Kind of a figure. The crate `ludex-report` draws figures of all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FigureKind {
    /// Numbers with their intervals.
    Table,
    /// Numbers by row and column, colored by their size.
    Matrix,
    /// Bar with its interval for each row and column.
    Bars,
    /// Bar for each row, divided among the columns.
    Stacked,
    /// Line for each series of numbers.
    Lines,
    /// Box plot of the distribution of a number, for each row.
    Box,
    /// One mark for each pair of numbers.
    Scatter,
    /// Density of points in hexagons.
    Hexbin,
    /// Several numbers of each row, on spokes around a center.
    Radar,
    /// Arrows from winners to losers.
    Graph,
    /// Pictures of a game's positions.
    Strip,
}

/// Input data that a kind of figure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Numbers by row and column.
    Cells,
    /// Series for each row.
    Lines,
    /// Distribution for each row.
    Spreads,
    Pairs,
    Graph,
    Pictures,
}

impl FigureKind {
    /// Returns the input data that the kind needs.
    pub fn needs(self) -> Needs {
        match self {
            FigureKind::Table | FigureKind::Matrix | FigureKind::Bars | FigureKind::Stacked | FigureKind::Radar => {
                Needs::Cells
            }
            FigureKind::Lines => Needs::Lines,
            FigureKind::Box => Needs::Spreads,
            FigureKind::Scatter | FigureKind::Hexbin => Needs::Pairs,
            FigureKind::Graph => Needs::Graph,
            FigureKind::Strip => Needs::Pictures,
        }
    }
}

/// Rule that selects the highlighted number of a column, or the highlighted node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Highlight {
    /// Highest number; in a graph, the node with the most wins.
    Best,
    Lowest,
}

/// Table or drawing of a suite: `[[figure]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Id in file names: lowercase letters, digits, `_` and `-`.
    pub id: String,
    pub title: String,
    /// Kind of figure ([`FigureKind`]).
    pub kind: String,
    /// Part with the matches to draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Parts with the matches to draw; default: all, if `part` is absent too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Conditions on the matches to draw.
    #[serde(default, rename = "where", skip_serializing_if = "MatchSelection::is_empty")]
    pub select: MatchSelection,
    /// Items of the rows; default: agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Along>,
    /// Items of the columns; default: the metrics of `cell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Along>,
    /// Metrics of the cells. A metric with several numbers has a column for each.
    #[serde(default, skip_serializing_if = "CellMetrics::is_empty")]
    pub cell: CellMetrics,
    /// Metric to draw, in kinds without cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FigureMetric>,
    /// Additional rows and columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub margins: Vec<Margin>,
    /// Horizontal metric of a scatter plot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<FigureMetric>,
    /// Vertical metric of a scatter plot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<FigureMetric>,
    /// Title of the horizontal axis, for the kinds `lines`, `scatter` and `hexbin`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub along: String,
    /// Axis whose items have separate colors in a scatter plot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Along>,
    /// Axes whose items have separate drawings.
    #[serde(default, skip_serializing_if = "Pages::is_empty")]
    pub pages: Pages,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
    /// Row of a table to which the other rows are compared: each column has a second one with the differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Caption in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
}

/// Axis of rows, columns, colors or pages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Along {
    /// Agents under evaluation, or all agents if none is under evaluation.
    Agent,
    /// Parts of the suite.
    Part,
    /// Opponents of the agents.
    Opponent,
    /// Levels of the ladder.
    Level,
    /// Variants of the agents. On an axis of agents, the variants of an agent are then merged.
    Variant,
    Group,
    /// Values of a mark, for cells whose metric is grouped by this mark.
    Mark(String),
}

/// Text form of all [`Along`] values.
const ALONG: &str = "agent, part, opponent, level, variant, group, mark:NAME";

impl TryFrom<String> for Along {
    type Error = String;

    fn try_from(text: String) -> Result<Along, String> {
        Ok(match text.as_str() {
            "agent" => Along::Agent,
            "part" => Along::Part,
            "opponent" => Along::Opponent,
            "level" => Along::Level,
            "variant" => Along::Variant,
            "group" => Along::Group,
            other => match other.strip_prefix("mark:") {
                Some(name) if !name.is_empty() => Along::Mark(name.to_owned()),
                _ => return Err(format!("expected one of {ALONG}, got {other:?}")),
            },
        })
    }
}

impl From<Along> for String {
    fn from(along: Along) -> String {
        match along {
            Along::Agent => "agent".to_owned(),
            Along::Part => "part".to_owned(),
            Along::Opponent => "opponent".to_owned(),
            Along::Level => "level".to_owned(),
            Along::Variant => "variant".to_owned(),
            Along::Group => "group".to_owned(),
            Along::Mark(name) => format!("mark:{name}"),
        }
    }
}

impl Along {
    /// Returns the heading of the axis.
    pub fn title(&self) -> String {
        let word = match self {
            Along::Mark(name) => name.clone(),
            other => String::from(other.clone()),
        };
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    }
}

/// Additional row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Margin {
    /// Means of rows and of columns.
    Mean,
    /// Row with the mean of each column.
    MeanRow,
    /// Column with the mean of each row.
    MeanColumn,
}

/// Metric in a figure: `"score_rate"` or `{ metric = "nra", form = "reward", title = "NRA" }`.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureMetric {
    pub ask: MetricSpec,
    /// Heading in the figure; default: the metric's own title.
    pub title: Option<String>,
    /// Number from which the metric is subtracted: with 1, the figure displays 1 minus the metric.
    pub from: Option<f64>,
    /// Parts that the metric covers; empty: all parts of the figure.
    pub parts: Vec<String>,
    /// Number over several parts: if true, computed from all their matches, else the mean of the numbers per part.
    pub pool: bool,
}

impl FigureMetric {
    /// Creates a metric without further settings.
    fn of(ask: MetricSpec) -> FigureMetric {
        FigureMetric { ask, title: None, from: None, parts: Vec::new(), pool: false }
    }
}

impl<'de> Deserialize<'de> for FigureMetric {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FigureMetric, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::String(text) => {
                let ask = MetricSpec::parse(&text).map_err(D::Error::custom)?;
                Ok(FigureMetric::of(ask))
            }
            toml::Value::Table(table) => {
                let mut args: BTreeMap<String, toml::Value> = table.into_iter().collect();
                let mut text = |name: &str| match args.remove(name) {
                    None => Ok(None),
                    Some(toml::Value::String(text)) => Ok(Some(text)),
                    Some(other) => Err(D::Error::custom(format!("{name}: expected text, got {other}"))),
                };
                let (metric, title) = (text("metric")?, text("title")?);
                let id =
                    metric.ok_or_else(|| D::Error::custom("expected metric = ID in a metric's table, got none"))?;
                let from =
                    args.remove("from").map(toml::Value::try_into::<f64>).transpose().map_err(D::Error::custom)?;
                let parts = args
                    .remove("parts")
                    .map(toml::Value::try_into::<Vec<String>>)
                    .transpose()
                    .map_err(D::Error::custom)?;
                let pool =
                    args.remove("pool").map(toml::Value::try_into::<bool>).transpose().map_err(D::Error::custom)?;
                let (parts, pool) = (parts.unwrap_or_default(), pool.unwrap_or_default());
                Ok(FigureMetric { title, from, parts, pool, ..FigureMetric::of(MetricSpec { id, args }) })
            }
            other => Err(D::Error::custom(format!("expected a metric as text or as a table, got {other}"))),
        }
    }
}

impl Serialize for FigureMetric {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.ask.args.is_empty() && *self == FigureMetric::of(self.ask.clone()) {
            return self.ask.id.serialize(to);
        }
        let text = |text: &str| toml::Value::String(text.to_owned());
        let mut all = BTreeMap::from([("metric".to_owned(), text(&self.ask.id))]);
        all.extend(self.title.iter().map(|title| ("title".to_owned(), text(title))));
        all.extend(self.from.map(|from| ("from".to_owned(), toml::Value::Float(from))));
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(|part| text(part)).collect();
            all.insert("parts".to_owned(), toml::Value::Array(parts));
        }
        if self.pool {
            all.insert("pool".to_owned(), toml::Value::Boolean(true));
        }
        all.extend(self.ask.args.clone());
        all.serialize(to)
    }
}

/// One or several values: `"x"` or `["x", "y"]`.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

pub type CellMetrics = OneOrMany<FigureMetric>;
/// Axes whose items have separate drawings; several axes are combined.
pub type Pages = OneOrMany<Along>;

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T> OneOrMany<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(from)?;
        let many = match value {
            toml::Value::Array(many) => many,
            one => vec![one],
        };
        let read = many.into_iter().map(|one| T::deserialize(one).map_err(|e| D::Error::custom(e.message())));
        Ok(OneOrMany(read.collect::<Result<_, _>>()?))
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(to),
            many => many.serialize(to),
        }
    }
}

/// Part of a suite, with the data that is needed to check figures.
pub struct KnownPart<'a> {
    pub id: &'a str,
    /// Marks of the part's game.
    pub marks: Vec<&'a str>,
}

impl Figure {
    /// Checks a figure of a suite with these parts.
    ///
    /// # Errors
    /// Returns an error that names a field that is unknown, missing, or not supported by the kind of the figure.
    pub fn check(&self, parts: &[KnownPart]) -> Result<(), String> {
        let Ok(kind) = self.kind.parse::<FigureKind>() else {
            return Err(format!("unknown kind {:?}{}", self.kind, did_you_mean(&self.kind, FigureKind::VARIANTS)));
        };
        if self.title.trim().is_empty() {
            return Err("title: expected text, got none".into());
        }
        if self.part.is_some() && !self.parts.is_empty() {
            return Err("part and parts exclude each other".into());
        }
        let of_cells = self.wishes().flat_map(|wish| &wish.parts);
        for id in self.parts.iter().chain(&self.part).chain(of_cells) {
            if parts.iter().all(|part| part.id != id) {
                let ids: Vec<&str> = parts.iter().map(|part| part.id).collect();
                return Err(format!("unknown part {id:?}{}", did_you_mean(id, &ids)));
            }
        }
        self.check_fields(kind)?;
        let own = |part: &&KnownPart| self.has(part.id);
        let known: BTreeSet<&str> = parts.iter().filter(own).flat_map(|part| part.marks.iter().copied()).collect();
        let know = |mark: &str| {
            let names: Vec<&str> = known.iter().copied().collect();
            let there =
                if names.is_empty() { "they have no marks".into() } else { format!("allowed: {}", names.join(", ")) };
            if known.contains(mark) {
                Ok(())
            } else {
                Err(format!("the games of the figure's parts have no mark {mark:?}; {there}"))
            }
        };
        for wish in self.wishes() {
            let asked = MetricQuery::new(&wish.ask)?;
            asked.marks().iter().try_for_each(|mark| know(mark))?;
        }
        for along in self.alongs() {
            if let Along::Mark(mark) = along {
                know(mark)?;
            }
        }
        let places = [&self.rows, &self.columns].into_iter().flatten();
        if places.clone().count() == 2 && self.rows == self.columns {
            return Err("expected different axes for rows and columns".into());
        }
        if self.baseline.is_some() && !self.margins.is_empty() {
            return Err("baseline and margins exclude each other".into());
        }
        if let Some(twice) = self.pages.0.iter().find(|page| self.rows.as_ref() == Some(page)) {
            let axis = String::from(twice.clone());
            return Err(format!("expected different axes for pages and rows, got {axis:?} for both"));
        }
        Ok(())
    }

    /// Checks that the figure has all fields that its kind needs, and no field that the kind does not support.
    fn check_fields(&self, kind: FigureKind) -> Result<(), String> {
        let given = [
            ("rows", self.rows.is_some()),
            ("columns", self.columns.is_some()),
            ("cell", !self.cell.is_empty()),
            ("value", self.value.is_some()),
            ("margins", !self.margins.is_empty()),
            ("x", self.x.is_some()),
            ("y", self.y.is_some()),
            ("along", !self.along.is_empty()),
            ("colour", self.colour.is_some()),
            ("highlight", self.highlight.is_some()),
            ("baseline", self.baseline.is_some()),
        ];
        let (needed, allowed): (&[&str], &[&str]) = match kind.needs() {
            Needs::Cells if kind == FigureKind::Table => {
                (&["cell"], &["rows", "columns", "margins", "highlight", "baseline"])
            }
            Needs::Cells => (&["cell"], &["rows", "columns", "margins", "highlight"]),
            Needs::Lines => (&["value"], &["rows", "along"]),
            Needs::Spreads => (&["value"], &["rows", "columns"]),
            Needs::Pairs if self.value.is_some() => (&["value"], &["rows", "along", "colour"]),
            Needs::Pairs => (&["x", "y"], &["rows", "along", "colour"]),
            Needs::Graph => (&["value"], &["highlight"]),
            Needs::Pictures => (&[], &[]),
        };
        if let Some(missing) = needed.iter().find(|name| given.contains(&(**name, false))) {
            return Err(format!("kind {kind} needs {missing}"));
        }
        let idle = |(name, is): &&(&str, bool)| *is && !needed.contains(name) && !allowed.contains(name);
        match given.iter().find(idle) {
            Some((name, _)) => Err(format!("{name} is not supported by kind {kind}")),
            None => Ok(()),
        }
    }

    /// Returns true if the figure includes a part.
    pub fn has(&self, part: &str) -> bool {
        match &self.part {
            Some(own) => own == part,
            None => self.parts.is_empty() || self.parts.iter().any(|own| own == part),
        }
    }

    /// Returns the metrics of the figure.
    pub fn wishes(&self) -> impl Iterator<Item = &FigureMetric> {
        self.cell.0.iter().chain(&self.value).chain(&self.x).chain(&self.y)
    }

    fn alongs(&self) -> impl Iterator<Item = &Along> {
        self.pages.0.iter().chain(&self.rows).chain(&self.columns).chain(&self.colour)
    }

    /// Returns the names of the marks that the metrics need.
    pub fn marks(&self) -> BTreeSet<String> {
        self.wishes().filter_map(|wish| MetricQuery::new(&wish.ask).ok()).flat_map(|asked| asked.marks()).collect()
    }
}

#[cfg(test)]
mod tests;
