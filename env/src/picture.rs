//! Pictures of positions: SVG that a page, a notebook or a rasteriser shows.
//!
//! A game draws on a [`Sketch`] with the blocks of this module: [`Board`] (squares and points with their names, pieces
//! upon them), [`cards`], [`tiles`], [`dice`], [`labels`]. All of them use the same few [`Paint`]s, which have a value for
//! light and one for dark surroundings, and which a page may override as CSS variables (`--ludex-wood: #eee`). No picture
//! has an id, a script, or a font of its own, so pictures can stand beside each other in one page.
//!
//! What a person can touch is an invisible element of class `cell` with the name of the cell in `data-cell`, drawn over the
//! rest. A page adds `last` or `legal` to that class.

pub mod cards;
pub mod chess;
pub mod dice;
mod grid;
pub mod items;
pub mod labels;
mod paint;
mod sketch;
pub mod table;
pub mod tiles;

pub use grid::{Board, sides, square_name};
pub use labels::text_box;
pub use paint::{Look, Paint, fill, line};
pub use sketch::{Sketch, TextAnchor};

/// The greatest size of a picture in bytes.
pub const MOST_BYTES: usize = 50_000;

/// A picture of a position, as one viewer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// An SVG document: one element `svg` of class `ludex` with `title` and `desc`.
    pub svg: String,
    /// Width in the units of its `viewBox`.
    pub width: u32,
    /// Height in the same units.
    pub height: u32,
}

impl Picture {
    /// The names of the cells that can be touched, as the picture writes them.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.svg.split("data-cell=\"").skip(1).filter_map(|rest| rest.split('"').next())
    }

    /// The same without the places to touch, but for those of the last move: for pages that only show it.
    pub fn still(mut self) -> Picture {
        let mut parts = self.svg.split("<rect class=\"cell\"");
        let mut svg = parts.next().unwrap_or_default().to_owned();
        parts.filter_map(|part| part.split_once("/>")).for_each(|(_, rest)| svg.push_str(rest));
        self.svg = svg;
        self
    }

    /// Marks `cells` as those of the last move. Names of cells that the picture lacks are ignored.
    pub fn mark_last<S: AsRef<str>>(&mut self, cells: &[S]) {
        mark_last(&mut self.svg, cells);
    }
}

/// The same for a picture that is text already.
pub fn mark_last<S: AsRef<str>>(svg: &mut String, cells: &[S]) {
    for name in cells {
        let name = escape(name.as_ref());
        let plain = format!("class=\"cell\" data-cell=\"{name}\"");
        *svg = svg.replacen(&plain, &format!("class=\"cell last\" data-cell=\"{name}\""), 1);
    }
}

/// The cells that a person touches, in order, to mean an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gesture(pub Vec<String>);

impl Gesture {
    /// A gesture of these cells.
    pub fn of<S: Into<String>>(cells: impl IntoIterator<Item = S>) -> Gesture {
        Gesture(cells.into_iter().map(Into::into).collect())
    }
}

/// `text` as it may stand in an element or in an attribute. Characters that XML forbids become `?`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control()
                || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.push('?')
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_are_escaped() {
        assert_eq!(escape("a<b>&\"c\"\u{1}\n\u{202e}"), "a&lt;b&gt;&amp;&quot;c&quot;? ?");
    }

    #[test]
    fn a_cell_is_marked_once() {
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
