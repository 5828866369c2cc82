//! Pictures of positions: SVG for pages, notebooks and rasterizers.
//!
//! A game draws on a [`Sketch`], with a [`Board`] of named squares or points, or with [`labels`]. All components share
//! a few [`Paint`]s, each with a color for light mode and a color for dark mode. A page may override the colors with
//! CSS variables (`--ludex-wood: #eee`). Pictures contain no ids, scripts or fonts, so a page can contain several.
//!
//! Clickable areas are invisible elements of class `cell`, with the name of the cell in `data-cell`, drawn on top.
//! Pages add the classes `last` and `legal`.

mod grid;
pub mod labels;
mod paint;
mod sketch;

pub use grid::{Board, sides, square_name};
pub use labels::text_box;
pub use paint::{Look, Paint, fill, line};
pub use sketch::Sketch;

pub use crate::svg::TextAnchor;
use crate::svg::escape;

/// Maximum size of a picture in bytes.
pub const MOST_BYTES: usize = 50_000;

/// A picture of a position as seen by one viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// SVG document: one `svg` element of class `ludex` with `title` and `desc`.
    pub svg: String,
    /// Width in units of the `viewBox`.
    pub width: u32,
    /// Height in units of the `viewBox`.
    pub height: u32,
}

impl Picture {
    /// Iterates over the names of clickable cells, XML-escaped as in the picture.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.svg.split("data-cell=\"").skip(1).filter_map(|rest| rest.split('"').next())
    }

    /// Removes the clickable cells except those of the last move, for pages without interaction.
    pub fn still(mut self) -> Picture {
        let mut parts = self.svg.split("<rect class=\"cell\"");
        let mut svg = parts.next().unwrap_or_default().to_owned();
        parts.filter_map(|part| part.split_once("/>")).for_each(|(_, rest)| svg.push_str(rest));
        self.svg = svg;
        self
    }

    /// Marks `cells` as part of the last move. Ignores names that are not in the picture.
    pub fn mark_last<S: AsRef<str>>(&mut self, cells: &[S]) {
        mark_last(&mut self.svg, cells);
    }
}

/// Marks `cells` as part of the last move in the text of a picture.
pub fn mark_last<S: AsRef<str>>(svg: &mut String, cells: &[S]) {
    for name in cells {
        let name = escape(name.as_ref());
        let plain = format!("class=\"cell\" data-cell=\"{name}\"");
        *svg = svg.replacen(&plain, &format!("class=\"cell last\" data-cell=\"{name}\""), 1);
    }
}

/// The cells that a person clicks, in order, to choose an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gesture(pub Vec<String>);

impl Gesture {
    /// Creates a gesture of these cells.
    pub fn of<S: Into<String>>(cells: impl IntoIterator<Item = S>) -> Gesture {
        Gesture(cells.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_cells_are_not_marked_as_last_move() {
        let mut sketch = Sketch::new(10, 10);
        sketch.cell("a<1", [0, 0, 5, 5]);
        sketch.cell("b1", [5, 0, 5, 5]);
        let mut picture = sketch.finish("t", "d");
        picture.mark_last(&["a<1", "c9"]);
        assert!(picture.svg.contains("class=\"cell last\" data-cell=\"a&lt;1\""), "{}", picture.svg);
        assert_eq!(picture.svg.matches("cell last").count(), 1);
        assert_eq!(picture.cells().collect::<Vec<_>>(), ["a&lt;1", "b1"]);
        let still = picture.clone().still();
        assert_eq!(still.cells().collect::<Vec<_>>(), ["a&lt;1"]);
        assert!(still.svg.ends_with("</svg>") && still.svg.len() < picture.svg.len());
    }
}
