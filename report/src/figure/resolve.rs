//! Conversion of a figure and its matches to drawable data.

use std::collections::BTreeSet;

use ludex_referee::metric::value::{Graph, Point};
use ludex_referee::metric::{Measurement, MetricQuery, MetricScope, Value};
use ludex_referee::relation::{correlation_p, pearson};
use ludex_referee::rows::Rows;
use ludex_referee::suite::figure::{Along, Figure, FigureKind, FigureMetric, Highlight, Margin, Needs};

use super::data::{
    Arrows, Axis, Boxes, ChartLine, Data, Fit, Grid, GridColumn, LineChart, NamedBox, PointGroup, Points, Strip,
};
use super::match_conditions::MatchConditions;

/// Drawing of a figure.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FigurePage {
    /// Subject of the drawing, if the figure has several drawings; empty for a single drawing.
    pub name: String,
    pub data: Data,
    /// Matches behind the numbers of the page.
    #[serde(skip)]
    pub matches: MatchConditions,
}

impl FigurePage {
    /// Returns the only page of a figure.
    pub fn only(data: Data) -> Vec<FigurePage> {
        vec![FigurePage { name: String::new(), data, matches: MatchConditions::default() }]
    }
}

/// Source data of figures.
pub struct FigureSource<'r, 'a> {
    pub rows: &'r Rows<'a>,
    /// Groups of parts: names with the ids of their parts.
    pub groups: &'r [(String, Vec<String>)],
    /// Function that takes the id of a part and returns pictures of some of its matches.
    pub pictures: &'r dyn Fn(&str) -> Vec<Strip>,
}

/// Subject of a number: for example an agent in a part.
#[derive(Clone, Default)]
struct Spot {
    /// Name of the agent, without its variant suffix if variants are a separate axis.
    agent: Option<String>,
    variant: Option<String>,
    opponent: Option<usize>,
    parts: Vec<usize>,
    level: Option<u32>,
    /// Name of the number, for a metric with several numbers.
    name: Option<String>,
    /// True if a number of several parts is computed from all their matches, instead of the mean over the parts.
    pooled: bool,
}

impl Spot {
    /// Returns the conditions on the matches of the subject.
    fn matches(&self, rows: &Rows) -> MatchConditions {
        let all = self.parts.len() == rows.parts().len();
        let parts = self.parts.iter().filter(|_| !all).map(|&part| rows.parts()[part].id.clone());
        MatchConditions {
            agent: self.agent.clone(),
            variant: self.variant.clone().filter(|variant| !variant.is_empty()),
            opponents: self.opponent.iter().map(|&who| rows.agents()[who].name.clone()).collect(),
            parts: parts.collect(),
            level: self.level,
        }
    }
}

/// Item of an axis: a row, column, color or page.
struct Item {
    title: String,
    set: Box<dyn Fn(&mut Spot)>,
}

impl Item {
    /// Returns the conditions that the item adds.
    fn matches(&self, rows: &Rows) -> MatchConditions {
        let mut spot = Spot::default();
        (self.set)(&mut spot);
        spot.matches(rows)
    }
}

/// Resolved metric of a figure.
struct ResolvedMetric<'f> {
    wish: &'f FigureMetric,
    asked: MetricQuery,
}

impl ResolvedMetric<'_> {
    fn of(wish: &FigureMetric) -> Option<ResolvedMetric<'_>> {
        // The metric is valid: a suite's figures are checked when the suite is read.
        Some(ResolvedMetric { wish, asked: MetricQuery::new(&wish.ask).ok()? })
    }

    fn axis(&self) -> Axis {
        let metric = self.asked.metric;
        Axis { title: self.title(), unit: metric.unit.to_owned(), digits: metric.digits }
    }

    /// Returns the value of the metric for a subject; `None` if the metric does not cover the subject's part.
    fn value(&self, rows: &Rows, spot: &Spot) -> Option<Value> {
        let own = |part: &usize| self.wish.parts.is_empty() || self.wish.parts.contains(&rows.parts()[*part].id);
        let parts: Vec<usize> = spot.parts.iter().copied().filter(own).collect();
        if parts.is_empty() && !spot.parts.is_empty() {
            return None;
        }
        let value = value(rows, &self.asked, &Spot { parts, pooled: self.wish.pool, ..spot.clone() })?;
        let Some(from) = self.wish.from else { return Some(value) };
        let flip = |m: Measurement| Measurement {
            value: from - m.value,
            low: m.high.map(|high| from - high),
            high: m.low.map(|low| from - low),
            n: m.n,
        };
        Some(match value {
            Value::Number(measure) => Value::Number(flip(measure)),
            Value::Shares(shares) => Value::Shares(shares.into_iter().map(|(name, m)| (name, flip(m))).collect()),
            other => other,
        })
    }

    fn title(&self) -> String {
        self.wish.title.clone().unwrap_or_else(|| self.asked.metric.title.to_owned())
    }
}

/// Returns the drawings of a figure: one page, or one page for each item of `pages`. Pages without numbers are omitted,
/// unless all pages are empty.
pub fn resolve(figure: &Figure, ground: &FigureSource) -> Vec<FigurePage> {
    let rows = figure.select.of(ground.rows);
    let ground = &FigureSource { rows: &rows, ..*ground };
    Resolver { figure, ground }.pages()
}

/// Figure with its matches.
struct Resolver<'a> {
    figure: &'a Figure,
    ground: &'a FigureSource<'a, 'a>,
}

impl Resolver<'_> {
    fn pages(&self) -> Vec<FigurePage> {
        let own: Vec<usize> = self
            .ground
            .rows
            .parts()
            .iter()
            .enumerate()
            .filter(|(_, part)| self.figure.has(&part.id))
            .map(|(k, _)| k)
            .collect();
        let mut spots = vec![(String::new(), Spot { parts: own, ..Spot::default() })];
        for along in &self.figure.pages.0 {
            let each = |(name, spot): &(String, Spot)| {
                let items = self.items(along, spot);
                let page = |item: Item| {
                    let mut spot = spot.clone();
                    (item.set)(&mut spot);
                    let name = if name.is_empty() { item.title } else { format!("{name}, {}", item.title) };
                    (name, spot)
                };
                items.into_iter().map(page).collect::<Vec<_>>()
            };
            spots = spots.iter().flat_map(each).collect();
        }
        let mut pages: Vec<FigurePage> =
            spots.into_iter().flat_map(|(name, spot)| self.pages_at(name, &spot)).collect();
        if pages.iter().any(|page| !page.data.is_empty()) {
            pages.retain(|page| !page.data.is_empty());
        } else {
            pages.truncate(1);
        }
        number_series(&mut pages);
        pages
    }

    /// Returns the drawings for a subject. A strip has one drawing for each match.
    fn pages_at(&self, name: String, spot: &Spot) -> Vec<FigurePage> {
        let data = match self.figure.kind.parse().map_or(Needs::Cells, FigureKind::needs) {
            Needs::Cells => Data::Grid(self.grid(spot)),
            Needs::Lines => Data::Lines(self.lines(spot)),
            Needs::Spreads => Data::Boxes(self.boxes(spot)),
            Needs::Pairs => Data::Points(self.points(spot)),
            Needs::Graph => Data::Arrows(self.arrows(spot)),
            Needs::Pictures => {
                let strips =
                    spot.parts.iter().flat_map(|&part| (self.ground.pictures)(&self.ground.rows.parts()[part].id));
                let page = |strip: Strip| {
                    let heads = [&name, &strip.name].into_iter().filter(|head| !head.is_empty());
                    FigurePage {
                        name: heads.map(String::as_str).collect::<Vec<_>>().join(", "),
                        data: Data::Strip(strip),
                        matches: MatchConditions::default(),
                    }
                };
                let pages: Vec<FigurePage> = strips.map(page).collect();
                if !pages.is_empty() {
                    return pages;
                }
                Data::Strip(Strip::default())
            }
        };
        let opponents = self.figure.select.opponent.clone();
        let mut matches =
            MatchConditions { opponents, ..MatchConditions::default() }.and(&spot.matches(self.ground.rows));
        if let [variant] = self.figure.select.variant.as_slice() {
            matches.variant = matches.variant.or_else(|| Some(variant.clone()));
        }
        vec![FigurePage { name, data, matches }]
    }

    /// Returns the items of an axis.
    fn items(&self, along: &Along, spot: &Spot) -> Vec<Item> {
        let rows = narrow(self.ground.rows, spot);
        let variants = [&self.figure.rows, &self.figure.columns, &self.figure.colour]
            .into_iter()
            .flatten()
            .chain(&self.figure.pages.0);
        let split = variants.into_iter().any(|along| *along == Along::Variant);
        match along {
            Along::Agent => {
                let names = candidates(&rows)
                    .into_iter()
                    .map(|name| if split { split_variant(self.ground.rows, &name).0 } else { name });
                let set = |name: &String, spot: &mut Spot| spot.agent = Some(name.clone());
                distinct(names).into_iter().map(|name| item(name.clone(), name, set)).collect()
            }
            Along::Variant => {
                let names = candidates(&rows).into_iter().map(|name| split_variant(self.ground.rows, &name).1);
                let set = |name: &String, spot: &mut Spot| spot.variant = Some(name.clone());
                let title = |name: &String| if name.is_empty() { "plain".to_owned() } else { name.clone() };
                distinct(names).into_iter().map(|name| item(title(&name), name, set)).collect()
            }
            Along::Opponent => {
                let set = |who: &usize, spot: &mut Spot| spot.opponent = Some(*who);
                let here = rows.agents_here().into_iter();
                here.map(|who| item(rows.agents()[who].name.clone(), who, set)).collect()
            }
            Along::Part => {
                let set = |part: &usize, spot: &mut Spot| spot.parts = vec![*part];
                spot.parts.iter().map(|&part| item(self.ground.rows.parts()[part].id.clone(), part, set)).collect()
            }
            Along::Group => {
                let set = |parts: &Vec<usize>, spot: &mut Spot| spot.parts.clone_from(parts);
                let of = |(name, ids): &(String, Vec<String>)| {
                    let own =
                        spot.parts.iter().copied().filter(|&part| ids.contains(&self.ground.rows.parts()[part].id));
                    item(name.clone(), own.collect::<Vec<usize>>(), set)
                };
                self.ground.groups.iter().map(of).collect()
            }
            Along::Level => {
                let mut levels: Vec<u32> = rows.everything().filter_map(|game| game.level).collect();
                levels.sort_unstable();
                levels.dedup();
                let set = |level: &u32, spot: &mut Spot| spot.level = Some(*level);
                levels.into_iter().map(|level| item(format!("level {level}"), level, set)).collect()
            }
            Along::Mark(_) => {
                let mut names: Vec<String> = Vec::new();
                for known in self.figure.cell.0.iter().chain(&self.figure.value).filter_map(ResolvedMetric::of) {
                    // Names are collected over all agents, so that every page has the same items.
                    let agents = candidates(&rows).into_iter().map(|agent| Spot { agent: Some(agent), ..spot.clone() });
                    for spot in agents {
                        if let Some(Value::Shares(shares)) = value(self.ground.rows, &known.asked, &spot) {
                            names.extend(shares.into_iter().map(|(name, _)| name));
                        }
                    }
                }
                let set = |name: &String, spot: &mut Spot| spot.name = Some(name.clone());
                distinct(names).into_iter().map(|name| item(name.clone(), name, set)).collect()
            }
        }
    }

    fn grid(&self, spot: &Spot) -> Grid {
        let wishes: Vec<ResolvedMetric> = self.figure.cell.0.iter().filter_map(ResolvedMetric::of).collect();
        if let ([one], None, None) = (wishes.as_slice(), &self.figure.rows, &self.figure.columns)
            && let Some(Value::Matrix(matrix)) = value(self.ground.rows, &one.asked, spot)
        {
            let column = |name: &String| GridColumn { name: name.clone(), axis: one.axis(), ..GridColumn::default() };
            let columns = matrix.columns.iter().map(column).collect();
            return Grid {
                rows: matrix.rows,
                columns,
                cells: matrix.cells,
                highlight: self.figure.highlight,
                ..Grid::default()
            };
        }
        let along = self.figure.rows.clone().unwrap_or(Along::Agent);
        let rows = self.items(&along, spot);
        let none = || vec![Item { title: String::new(), set: Box::new(|_| {}) }];
        let columns = self.figure.columns.as_ref().map_or_else(none, |along| self.items(along, spot));
        let mut out = Grid {
            corner: along.title(),
            rows: rows.iter().map(|row| row.title.clone()).collect(),
            cells: vec![Vec::new(); rows.len()],
            highlight: self.figure.highlight,
            row_matches: rows.iter().map(|row| row.matches(self.ground.rows)).collect(),
            ..Grid::default()
        };
        // Metrics with equal titles are one kind of number: their columns have a common mean.
        let titles = distinct(wishes.iter().map(ResolvedMetric::title));
        let several = titles.len() > 1;
        // Source column and name of each grid column.
        let mut kinds: Vec<(usize, String)> = Vec::new();
        for column in &columns {
            for known in &wishes {
                let at = titles.iter().position(|title| *title == known.title()).unwrap_or(0);
                let found: Vec<Numbers> = rows.iter().map(|row| self.cell_of(known, spot, [column, row])).collect();
                // The names come from all rows of the column.
                for name in distinct(found.iter().flatten().map(|(name, _)| name.clone())) {
                    let mut own = head(&column.title, known, several, &name);
                    own.matches = column.matches(self.ground.rows);
                    out.columns.push(own);
                    for (cells, numbers) in out.cells.iter_mut().zip(&found) {
                        cells.push(numbers.iter().find(|(own, _)| *own == name).map(|(_, m)| *m));
                    }
                    kinds.push((at, name));
                }
            }
        }
        drop_empty(&mut out, &mut kinds);
        let wants = |margin: Margin| self.figure.margins.iter().any(|own| *own == margin || *own == Margin::Mean);
        if let Some(baseline) = &self.figure.baseline {
            add_differences(&mut out, baseline);
        }
        if wants(Margin::MeanColumn) && self.figure.columns.is_some() {
            let pooled = |known: &ResolvedMetric, row: &str, name: &str| {
                let row = rows.iter().find(|item| item.title == row)?;
                let whole = self.cell_of(known, spot, [&Item { title: String::new(), set: Box::new(|_| {}) }, row]);
                whole.into_iter().find(|(own, _)| own == name).map(|(_, m)| m)
            };
            add_mean_columns(&mut out, &wishes, &titles, &kinds, pooled);
        }
        if wants(Margin::MeanRow) && out.rows.len() > 1 {
            add_mean_row(&mut out, &self.ground.rows.people());
        }
        out
    }

    fn cell_of(&self, known: &ResolvedMetric, spot: &Spot, items: [&Item; 2]) -> Numbers {
        let mut spot = spot.clone();
        items.iter().for_each(|item| (item.set)(&mut spot));
        let found = known.value(self.ground.rows, &spot).map_or_else(Vec::new, numbers);
        match &spot.name {
            // The row or the column has the name already, so the number gets an empty name.
            Some(name) => {
                found.into_iter().find(|(own, _)| own == name).map(|(_, m)| (String::new(), m)).into_iter().collect()
            }
            None => found,
        }
    }

    fn each<T>(&self, spot: &Spot, of: impl Fn(&MetricQuery, &Spot) -> Option<T>) -> Vec<(String, Option<T>)> {
        let Some(known) = self.figure.value.as_ref().and_then(ResolvedMetric::of) else { return Vec::new() };
        let none = || vec![Item { title: String::new(), set: Box::new(|_| {}) }];
        let rows = self.items(self.figure.rows.as_ref().unwrap_or(&Along::Agent), spot);
        let columns = self.figure.columns.as_ref().map_or_else(none, |along| self.items(along, spot));
        let mut out = Vec::new();
        for row in &rows {
            for column in &columns {
                let mut spot = spot.clone();
                (row.set)(&mut spot);
                (column.set)(&mut spot);
                let titles = [&row.title, &column.title].into_iter().filter(|title| !title.is_empty());
                let title = titles.map(String::as_str).collect::<Vec<_>>().join(", ");
                out.push((title, of(&known.asked, &spot)));
            }
        }
        out
    }

    fn axis(&self) -> Axis {
        self.figure.value.as_ref().and_then(ResolvedMetric::of).map(|known| known.axis()).unwrap_or_default()
    }

    fn along_axis(&self) -> Axis {
        Axis { title: self.figure.along.clone(), ..Axis::default() }
    }

    fn lines(&self, spot: &Spot) -> LineChart {
        let found = self.each(spot, |asked, spot| match value(self.ground.rows, asked, spot)? {
            Value::Series(points) => Some(points),
            _ => None,
        });
        let lines = found.into_iter().filter_map(|(name, points)| Some(ChartLine { name, points: points?, series: 0 }));
        LineChart { x: self.along_axis(), y: self.axis(), lines: lines.collect() }
    }

    fn boxes(&self, spot: &Spot) -> Boxes {
        let found = self.each(spot, |asked, spot| match value(self.ground.rows, asked, spot)? {
            Value::Quantiles(quantiles) => Some(quantiles),
            _ => None,
        });
        let boxes = found.into_iter().filter(|(_, quantiles)| quantiles.is_some());
        Boxes { value: self.axis(), boxes: boxes.map(|(name, quantiles)| NamedBox { name, quantiles }).collect() }
    }

    fn points(&self, spot: &Spot) -> Points {
        let colours = match &self.figure.colour {
            Some(along) => self.items(along, spot),
            None => vec![Item { title: String::new(), set: Box::new(|_| {}) }],
        };
        let mut out = Points { x: self.along_axis(), y: self.axis(), ..Points::default() };
        let pair = self
            .figure
            .x
            .as_ref()
            .and_then(ResolvedMetric::of)
            .zip(self.figure.y.as_ref().and_then(ResolvedMetric::of));
        if let Some((x, y)) = &pair {
            (out.x, out.y) = (x.axis(), y.axis());
        }
        for colour in colours {
            let mut spot = spot.clone();
            (colour.set)(&mut spot);
            let points = match &pair {
                Some((x, y)) => self.pairs(&spot, [x, y]),
                None => self.cloud(&spot),
            };
            if !points.is_empty() {
                out.groups.push(PointGroup { name: colour.title, points, series: 0 });
            }
        }
        if pair.is_some() {
            let points = out.groups.iter().flat_map(|group| &group.points);
            let points: Vec<(f64, f64)> = points.map(|p| (p.x, p.y)).collect();
            let n = points.len();
            // Two points always lie on a line, so their correlation means nothing.
            out.fit = pearson(&points).filter(|_| n > 2).map(|r| Fit { n: n as u64, r, p: correlation_p(r, n) });
        }
        out
    }

    /// Returns one point for each row, with the row's numbers on both axes as coordinates.
    fn pairs(&self, spot: &Spot, axes: [&ResolvedMetric; 2]) -> Vec<Point> {
        let items = match (&self.figure.rows, &self.figure.colour) {
            // Each agent has a color of its own and one point.
            (None, Some(Along::Agent)) => vec![Item { title: String::new(), set: Box::new(|_| {}) }],
            (rows, _) => self.items(rows.as_ref().unwrap_or(&Along::Agent), spot),
        };
        let point = |item: Item| {
            let mut spot = spot.clone();
            (item.set)(&mut spot);
            let number = |known: &ResolvedMetric| Some(known.value(self.ground.rows, &spot)?.number()?.value);
            Some(Point { x: number(axes[0])?, y: number(axes[1])?, label: item.title })
        };
        items.into_iter().filter_map(point).collect()
    }

    /// Returns all points of a metric for the subject's agent, or for all agents if the subject names none.
    fn cloud(&self, spot: &Spot) -> Vec<Point> {
        let Some(known) = self.figure.value.as_ref().and_then(ResolvedMetric::of) else { return Vec::new() };
        let of = |spot: &Spot| match value(self.ground.rows, &known.asked, spot) {
            Some(Value::Points(points)) => points,
            _ => Vec::new(),
        };
        if spot.agent.is_some() || known.asked.metric.scope != MetricScope::Agent {
            return of(spot);
        }
        let agents = candidates(&narrow(self.ground.rows, spot)).into_iter();
        agents.flat_map(|agent| of(&Spot { agent: Some(agent), ..spot.clone() })).collect()
    }

    fn arrows(&self, spot: &Spot) -> Arrows {
        let known = self.figure.value.as_ref().and_then(ResolvedMetric::of);
        let all = Spot { agent: None, variant: None, ..spot.clone() };
        let found = known.and_then(|known| value(self.ground.rows, &known.asked, &all));
        let Some(Value::Graph(graph)) = found else {
            return Arrows { graph: Graph { nodes: Vec::new(), edges: Vec::new() }, highlight: None };
        };
        let wins = |node: usize| graph.edges.iter().filter(|edge| edge.from == node).count();
        let losses = |node: usize| graph.edges.iter().filter(|edge| edge.to == node).count();
        let nodes = 0..graph.nodes.len();
        let highlight = match (&spot.agent, self.figure.highlight) {
            (Some(agent), _) => graph.nodes.iter().position(|name| name == agent),
            // Of equally good nodes, the first is highlighted.
            (None, Some(Highlight::Best)) => nodes.min_by_key(|&n| (std::cmp::Reverse(wins(n)), losses(n), n)),
            (None, Some(Highlight::Lowest)) => nodes.min_by_key(|&n| (wins(n), std::cmp::Reverse(losses(n)), n)),
            (None, None) => None,
        };
        Arrows { graph, highlight }
    }
}

/// Assigns equal indices to equal series on all pages, so that they have equal colors.
fn number_series(pages: &mut [FigurePage]) {
    let mut known: Vec<String> = Vec::new();
    let mut place = |name: &str| match known.iter().position(|own| own == name) {
        Some(at) => at,
        None => {
            known.push(name.to_owned());
            known.len() - 1
        }
    };
    for page in pages {
        match &mut page.data {
            Data::Lines(data) => data.lines.iter_mut().for_each(|line| line.series = place(&line.name)),
            Data::Points(data) => data.groups.iter_mut().for_each(|group| group.series = place(&group.name)),
            Data::Grid(data) => data.columns.iter_mut().for_each(|column| column.series = Some(place(&column.full()))),
            _ => {}
        }
    }
}

/// Numbers by name; a single number has no name.
type Numbers = Vec<(String, Measurement)>;

/// Converts the value of a metric to numbers for a grid.
fn numbers(value: Value) -> Numbers {
    match value {
        Value::Number(measure) => vec![(String::new(), measure)],
        Value::Shares(shares) => shares,
        Value::Quantiles(q) => {
            let named =
                [("mean", q.mean), ("min", q.min), ("q1", q.q1), ("median", q.median), ("q3", q.q3), ("max", q.max)];
            named.map(|(name, value)| (name.to_owned(), Measurement::plain(value, q.n))).into()
        }
        _ => Vec::new(),
    }
}

/// Creates the heading of a column.
fn head(column: &str, known: &ResolvedMetric, several: bool, name: &str) -> GridColumn {
    let title = known.title();
    let metric = if several { title.as_str() } else { "" };
    let heads: Vec<&str> = [column, metric, name].into_iter().filter(|head| !head.is_empty()).collect();
    let (own, under) =
        heads.split_last().map_or((title.as_str(), String::new()), |(own, under)| (*own, under.join(", ")));
    GridColumn { under, name: own.to_owned(), axis: known.axis(), ..GridColumn::default() }
}

/// Drops rows and columns without a number, unless the whole grid is empty.
fn drop_empty(grid: &mut Grid, kinds: &mut Vec<(usize, String)>) {
    let any = |cells: &[Option<Measurement>]| cells.iter().any(Option::is_some);
    if !grid.cells.iter().any(|cells| any(cells)) {
        return;
    }
    let keep: Vec<bool> = (0..grid.columns.len()).map(|c| grid.cells.iter().any(|cells| cells[c].is_some())).collect();
    let kept = |k: usize| keep[k];
    let mut at = 0..;
    grid.columns.retain(|_| at.next().is_some_and(kept));
    let mut at = 0..;
    kinds.retain(|_| at.next().is_some_and(kept));
    for cells in &mut grid.cells {
        let mut at = 0..;
        cells.retain(|_| at.next().is_some_and(kept));
    }
    let rows: Vec<bool> = grid.cells.iter().map(|cells| any(cells)).collect();
    let mut at = 0..;
    grid.rows.retain(|_| at.next().is_some_and(|k: usize| rows[k]));
    grid.cells.retain(|cells| any(cells));
}

/// Returns the mean of the numbers, without an interval.
fn mean(of: impl Iterator<Item = Measurement>) -> Option<Measurement> {
    let values: Vec<f64> = of.map(|m| m.value).collect();
    let count = values.len();
    (count > 0).then(|| Measurement::plain(values.iter().sum::<f64>() / count as f64, count as u64))
}

/// Inserts a column with the differences to the baseline's row after each column.
fn add_differences(grid: &mut Grid, baseline: &str) {
    let Some(base) = grid.rows.iter().position(|row| row == baseline) else { return };
    let base = grid.cells[base].clone();
    let with_difference = |column: GridColumn| {
        let name = format!("{}, difference", column.name);
        let difference = GridColumn { name, plain: true, ..column.clone() };
        [column, difference]
    };
    grid.columns = std::mem::take(&mut grid.columns).into_iter().flat_map(with_difference).collect();
    for (cells, row) in grid.cells.iter_mut().zip(&grid.rows) {
        let difference = |(own, base): (&Option<Measurement>, &Option<Measurement>)| {
            let compared = own.zip(*base).filter(|_| row != baseline);
            [*own, compared.map(|(own, base)| Measurement::plain(own.value - base.value, own.n))]
        };
        *cells = cells.iter().zip(&base).flat_map(difference).collect();
    }
}

/// Appends a column for each kind of number: the mean of each row, or the number `pooled` of a metric, a row and a name.
fn add_mean_columns(
    grid: &mut Grid,
    wishes: &[ResolvedMetric],
    titles: &[String],
    kinds: &[(usize, String)],
    pooled: impl Fn(&ResolvedMetric, &str, &str) -> Option<Measurement>,
) {
    let own = distinct(kinds.iter().cloned());
    for kind in own {
        let places: Vec<usize> = (0..kinds.len()).filter(|&c| kinds[c] == kind).collect();
        if places.len() < 2 {
            continue;
        }
        let Some(known) = wishes.iter().find(|known| known.title() == titles[kind.0]) else { continue };
        let heading = if known.wish.pool { "pooled" } else { "mean" };
        grid.columns.push(head(heading, known, titles.len() > 1, &kind.1));
        grid.margin_columns += 1;
        for (cells, row) in grid.cells.iter_mut().zip(&grid.rows) {
            cells.push(match known.wish.pool {
                true => pooled(known, row, &kind.1),
                false => mean(places.iter().filter_map(|&c| cells[c])),
            });
        }
    }
}

/// Appends a row with the mean of each column. People have means of their own, so they do not count beside other agents.
fn add_mean_row(grid: &mut Grid, people: &BTreeSet<&str>) {
    let is_person = |row: &String| people.contains(row.as_str());
    let only_people = grid.rows.iter().all(is_person);
    let counts: Vec<bool> = grid.rows.iter().map(|row| only_people || !is_person(row)).collect();
    let of = |c: usize| mean(grid.cells.iter().zip(&counts).filter_map(|(cells, counts)| cells[c].filter(|_| *counts)));
    let cells = (0..grid.columns.len()).map(of).collect();
    grid.rows.push("mean".to_owned());
    grid.cells.push(cells);
    grid.margin_rows = 1;
}

/// Separator between an agent and its variant.
const SPLIT: &str = " / ";

/// Splits an agent's name into candidate and variant; the variant is empty for agents that are not variants. The plan
/// names variants `CANDIDATE / VARIANT`, and variants of a part `CANDIDATE (PART: VARIANT)`.
fn split_variant(rows: &Rows, name: &str) -> (String, String) {
    let of_part = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let of_part = of_part.and_then(|(rest, own)| Some((rest, own.split_once(": ")?)));
    let (rest, own) = match of_part {
        Some((rest, (part, own))) if rows.part_named(part).is_some() => (rest, Some(own)),
        _ => (name, None),
    };
    let (base, of_suite) = rest.split_once(SPLIT).map_or((rest, None), |(base, variant)| (base, Some(variant)));
    let variant: Vec<&str> = of_suite.into_iter().chain(own).collect();
    (base.to_owned(), variant.join(", "))
}

/// Returns the names of the candidates, or of all agents if there are no candidates.
fn candidates(rows: &Rows) -> Vec<String> {
    let own = rows.candidates_here();
    let own = if own.is_empty() { rows.agents_here() } else { own };
    own.into_iter().map(|who| rows.agents()[who].name.clone()).collect()
}

/// Returns the rows of the matches in the subject's parts and at its level, including the matches of all agents.
fn narrow<'a>(rows: &Rows<'a>, spot: &Spot) -> Rows<'a> {
    let narrow = match spot.parts.as_slice() {
        [part] => rows.of_part(*part),
        parts if parts.len() == rows.parts().len() => rows.clone(),
        parts => rows.filtered(|game| parts.contains(&game.part)),
    };
    match spot.level {
        Some(level) => narrow.filtered(|game| game.level == Some(level)),
        None => narrow,
    }
}

/// Returns the agent of a subject, by name and variant. If the subject has a variant but no agent, returns the first
/// agent with this variant.
fn agent_of(rows: &Rows, spot: &Spot) -> Option<Option<usize>> {
    let Some(variant) = &spot.variant else {
        return match &spot.agent {
            Some(name) => rows.agent_index(name).map(Some),
            None => Some(None),
        };
    };
    let own = |who: &usize| {
        let (base, own) = split_variant(rows, &rows.agents()[*who].name);
        own == *variant && spot.agent.as_ref().is_none_or(|name| *name == base)
    };
    narrow(rows, spot).candidates_here().into_iter().find(own).map(Some)
}

/// Returns a metric's value for a subject. If the subject covers several parts, numbers per part are averaged.
fn value(rows: &Rows, asked: &MetricQuery, spot: &Spot) -> Option<Value> {
    let scope = asked.metric.scope;
    if scope == MetricScope::Suite {
        let rows = narrow(rows, spot);
        let value = asked.of(&ask_about(&rows, spot)?);
        return value.or_else(|| asked.of(&rows.of_all())).and_then(|value| own_share(value, &rows, spot));
    }
    let whole = narrow(rows, spot);
    if spot.parts.len() > 1 && !spot.pooled {
        let of = |&part: &usize| value(rows, asked, &Spot { parts: vec![part], ..spot.clone() });
        let each: Vec<Value> = spot.parts.iter().filter_map(of).collect();
        let numbers: Option<Vec<Measurement>> = each.iter().map(Value::number).collect();
        if let Some(numbers) = numbers {
            // The number of a single part retains its interval.
            return if let [one] = numbers.as_slice() {
                Some(Value::Number(*one))
            } else {
                mean(numbers.into_iter()).map(Value::Number)
            };
        }
    }
    match scope {
        MetricScope::Pool => asked.of(&whole.of_all()).and_then(|value| own_share(value, &whole, spot)),
        _ => asked.of(&ask_about(&whole, spot)?),
    }
}

/// Returns rows of the same matches as `rows`, with the subject's agent as the queried agent.
fn ask_about<'a>(rows: &Rows<'a>, spot: &Spot) -> Option<Rows<'a>> {
    Some(match (agent_of(rows, spot)?, spot.opponent) {
        (Some(agent), Some(opponent)) if agent == opponent => return None,
        (Some(agent), Some(opponent)) => rows.of_pair(agent, opponent),
        (Some(agent), None) => rows.of_agent(agent),
        (None, _) => rows.of_all(),
    })
}

/// Returns the value of the subject's agent, from a value with a number for each agent.
fn own_share(value: Value, rows: &Rows, spot: &Spot) -> Option<Value> {
    let (Value::Shares(shares), Some(agent)) = (&value, agent_of(rows, spot)?) else { return Some(value) };
    let known = |name: &str| rows.agent_index(name).is_some();
    if !shares.iter().all(|(name, _)| known(name)) {
        return Some(value);
    }
    let name = &rows.agents()[agent].name;
    shares.iter().find(|(own, _)| own == name).map(|(_, m)| Value::Number(*m))
}

fn item<T: 'static>(title: String, value: T, set: impl Fn(&T, &mut Spot) + 'static) -> Item {
    Item { title, set: Box::new(move |spot| set(&value, spot)) }
}

/// Removes duplicates, in the order of first appearance.
fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for one in all {
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

#[cfg(test)]
mod tests;
