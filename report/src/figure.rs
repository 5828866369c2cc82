//! Figures: the tables and drawings of a suite.
//!
//! A figure has a [kind](FigureKind). Each kind draws data of one shape ([`data`]); the same data is written as CSV, JSON
//! and LaTeX (`Drawing`). The drawings are SVG with classes instead of colors, which the page's style defines for light
//! mode, dark mode and print. Chart libraries put colors into each element, so the SVG is written directly.

mod axes;
mod bars;
mod boxes;
pub mod data;
mod graph;
mod hexbin;
mod lines;
pub mod match_conditions;
mod matrix;
mod radar;
pub mod resolve;
mod scatter;
mod stacked;
mod strip;
mod svg;
mod table;
mod write;

pub(crate) use self::write::text;

use std::collections::BTreeSet;

use serde::Serialize;

use self::data::Data;
use ludex_referee::metric::Metric;
use ludex_referee::suite::figure::{Figure, FigureKind};

/// Style of all drawings. Colors come from variables of the page's style.
pub const STYLE: &str = include_str!("figure/figure.css");

/// Draws data as a figure of a kind: an `<svg>`, or an HTML table or list. If the data is empty or has the wrong shape
/// for the kind, the drawing contains a message.
pub fn draw(kind: FigureKind, data: &Data, title: &str) -> String {
    use FigureKind as Kind;
    if data.is_empty() {
        return svg::nothing(title, "Nothing was measured.");
    }
    match (kind, data) {
        (Kind::Table, Data::Grid(data)) => table::draw(data, title),
        (Kind::Matrix, Data::Grid(data)) => matrix::draw(data, title),
        (Kind::Bars, Data::Grid(data)) => bars::draw(data, title),
        (Kind::Stacked, Data::Grid(data)) => stacked::draw(data, title),
        (Kind::Radar, Data::Grid(data)) => radar::draw(data, title),
        (Kind::Lines, Data::Lines(data)) => lines::draw(data, title),
        (Kind::Box, Data::Boxes(data)) => boxes::draw(data, title),
        (Kind::Scatter, Data::Points(data)) => scatter::draw(data, title),
        (Kind::Hexbin, Data::Points(data)) => hexbin::draw(data, title),
        (Kind::Graph, Data::Arrows(data)) => graph::draw(data, title),
        (Kind::Strip, Data::Strip(data)) => strip::draw(data, title),
        _ => svg::nothing(title, &format!("A figure of kind {kind} cannot show these numbers.")),
    }
}

/// Figure of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RenderedFigure {
    /// Id of the figure, used in file names.
    pub id: String,
    pub title: String,
    /// True for the figure with a suite's main result, which comes first in reports.
    pub headline: bool,
    pub kind: String,
    pub caption: String,
    pub pages: Vec<resolve::FigurePage>,
    /// Metrics in the figure: title, formula and source.
    pub measures: Vec<[String; 3]>,
}

impl RenderedFigure {
    /// Renders a figure of a suite.
    pub fn of(figure: &Figure, ground: &resolve::FigureSource) -> RenderedFigure {
        let metrics = figure.wishes().filter_map(|wish| Metric::find(&wish.ask.id).ok());
        RenderedFigure {
            id: figure.id.clone(),
            title: figure.title.clone(),
            headline: false,
            kind: figure.kind.clone(),
            caption: caption(figure),
            pages: resolve::resolve(figure, ground),
            measures: metrics.map(|m| [m.title, m.formula, m.source].map(str::to_owned)).collect(),
        }
    }

    /// Draws a page: an `<svg>` element, or an HTML table or list.
    pub fn draw(&self, page: &resolve::FigurePage) -> String {
        let title = if page.name.is_empty() { self.title.clone() } else { format!("{}: {}", self.title, page.name) };
        self.kind.parse().map(|kind| draw(kind, &page.data, &title)).unwrap_or_default()
    }

    /// Returns the numbers of all pages as CSV. With several pages, the first column has their names.
    pub fn to_csv(&self) -> String {
        match self.pages.as_slice() {
            [page] => page.data.to_csv(),
            pages => write::pages_csv(pages.iter().map(|page| (page.name.as_str(), &page.data))),
        }
    }

    /// Returns the files of the figure by name: the numbers as CSV, JSON and LaTeX, and each drawing.
    pub fn files(&self) -> Vec<(String, String)> {
        let id = &self.id;
        let mut out = Vec::new();
        // Pages are plain data, so serialization cannot fail.
        let json = serde_json::to_string_pretty(self).unwrap_or_default();
        out.push((format!("{id}.json"), format!("{json}\n")));
        let mut known = BTreeSet::new();
        for page in &self.pages {
            let name = if self.pages.len() > 1 { format!("{id}-{}", file_part(&page.name)) } else { id.clone() };
            let mut numbered = (2..).map(|k| format!("{name}-{k}"));
            let name = std::iter::once(name.clone()).chain(&mut numbered).find(|name| !known.contains(name));
            let name = name.unwrap_or_default();
            known.insert(name.clone());
            out.push((format!("{name}.csv"), page.data.to_csv()));
            out.push((format!("{name}.tex"), page.data.to_latex()));
            let drawn = self.draw(page);
            if drawn.starts_with("<svg") {
                out.push((format!("{name}.svg"), alone(&drawn)));
            }
        }
        out
    }
}

/// Returns the caption of a figure, with the conditions on its matches.
fn caption(figure: &Figure) -> String {
    let conditions = figure.select.to_text();
    let only = if conditions.is_empty() { String::new() } else { format!("Only matches with {conditions}.") };
    [figure.caption.as_str(), &only].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Longest part of a file name that a page's name gives, in characters.
const LONGEST: usize = 60;

/// Returns the name of a page as a part of file names: lowercase letters and digits, and `_` in place of the rest.
fn file_part(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_ascii_lowercase();
    let name: String = name.chars().take(LONGEST).collect();
    if name.is_empty() { "page".to_owned() } else { name }
}

/// Colors of a standalone drawing.
const PLAIN: &str = ":root { --paper: #fcfcfa; --ink: #1d2126; --soft: #5c6570; --line: #dcdfe3; --row: #f3f4f2; }\n\
    @media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e8ea; --soft: #9aa4af; --line: #333941; --row: #1c2025; } }\n";

/// Embeds the style in a drawing, so that the drawing can be stored as a separate file.
fn alone(svg: &str) -> String {
    let named = svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    named.replacen(">\n", &format!(">\n<style>\n{PLAIN}svg {{ background: var(--paper); }}\n{STYLE}</style>\n"), 1)
}

#[cfg(test)]
mod tests;
