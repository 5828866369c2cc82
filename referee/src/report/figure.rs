//! Figures: the tables and drawings of a suite.
//!
//! A figure has a kind ([`KINDS`]). Each kind draws data of one shape ([`data`]); the same data is written as CSV, JSON and
//! LaTeX ([`Drawing`]). The drawings are SVG without colours: classes name them, and the page's style has them for light,
//! dark and paper. That is why they are written by hand here: the writers of charts that exist put colours into each element.

mod axes;
mod bars;
mod boxes;
pub mod data;
mod graph;
mod hexbin;
mod lines;
mod matrix;
mod radar;
mod scatter;
mod stacked;
mod strip;
mod svg;
mod table;
mod write;

pub(super) use self::write::text;

use self::data::{Arrows, Boxes, Data, Grid, Lines, Points, Strip};

/// All kinds of figures.
pub const KINDS: &[Kind] = &[
    table::TABLE,
    matrix::MATRIX,
    bars::BARS,
    stacked::STACKED,
    lines::LINES,
    boxes::BOX,
    scatter::SCATTER,
    hexbin::HEXBIN,
    radar::RADAR,
    graph::GRAPH,
    strip::STRIP,
];

/// The style of all drawings. It takes its colours from variables of the page's style.
pub const STYLE: &str = include_str!("figure/figure.css");

/// A kind of figure.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in suites.
    pub id: &'static str,
    /// What it shows.
    pub doc: &'static str,
    draw: Draw,
}

/// What a kind draws, with the title. The result is HTML: an `<svg>`, or a table or a list.
#[derive(Clone, Copy, Debug)]
enum Draw {
    Grid(fn(&Grid, &str) -> String),
    Lines(fn(&Lines, &str) -> String),
    Boxes(fn(&Boxes, &str) -> String),
    Points(fn(&Points, &str) -> String),
    Arrows(fn(&Arrows, &str) -> String),
    Strip(fn(&Strip, &str) -> String),
}

impl Kind {
    /// The kind of a name.
    pub fn named(id: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.id == id)
    }

    /// Draws data. Data that is empty, or of a shape that the kind does not draw, gives a drawing that says so.
    pub fn draw(&self, data: &Data, title: &str) -> String {
        if data.is_empty() {
            return svg::nothing(title, "Nothing was measured.");
        }
        match (self.draw, data) {
            (Draw::Grid(draw), Data::Grid(data)) => draw(data, title),
            (Draw::Lines(draw), Data::Lines(data)) => draw(data, title),
            (Draw::Boxes(draw), Data::Boxes(data)) => draw(data, title),
            (Draw::Points(draw), Data::Points(data)) => draw(data, title),
            (Draw::Arrows(draw), Data::Arrows(data)) => draw(data, title),
            (Draw::Strip(draw), Data::Strip(data)) => draw(data, title),
            _ => svg::nothing(title, &format!("A figure of kind {} does not show these numbers.", self.id)),
        }
    }
}

#[cfg(test)]
mod tests;
