//! Shapes in SVG.

use std::fmt::Write as _;

use super::Picture;
use super::paint::{self, Look, Paint};
use crate::svg::{Attribute, Element, TextAnchor, escape};

/// A picture under construction. Coordinates are in units of the `viewBox`; y increases downwards.
pub struct Sketch {
    body: String,
    /// Clickable cells, drawn above all shapes.
    cells: String,
    last: Vec<String>,
    width: i32,
    height: i32,
    fills: u64,
    lines: u64,
}

impl Sketch {
    /// Creates an empty picture. Width and height are at least 1.
    pub fn new(width: i32, height: i32) -> Sketch {
        let (width, height) = (width.max(1), height.max(1));
        let mut sketch = Sketch {
            body: String::with_capacity(8_192),
            cells: String::with_capacity(4_096),
            last: Vec::new(),
            width,
            height,
            fills: 0,
            lines: 0,
        };
        sketch.rect(paint::fill(Paint::Paper), [0, 0, width, height], 8);
        sketch
    }

    /// Returns the size as `[width, height]`.
    pub fn size(&self) -> [i32; 2] {
        [self.width, self.height]
    }

    /// Opens a shape in a style.
    fn shape(&mut self, name: &'static str, look: Look) -> Element<'_> {
        self.count(look);
        styled(Element::new(&mut self.body, name), look)
    }

    /// Adds the paints of a style to the style sheet.
    fn count(&mut self, look: Look) {
        self.fills |= look.fill.map_or(0, |paint| 1 << paint as u64);
        self.lines |= look.line.map_or(0, |(paint, _)| 1 << paint as u64);
    }

    /// Draws a rectangle `[x, y, width, height]` with corners of `radius`.
    pub fn rect(&mut self, look: Look, place: [i32; 4], radius: i32) {
        let rect = placed(self.shape("rect", look), place);
        if radius > 0 { rect.with("rx", radius) } else { rect }.end();
    }

    /// Draws a circle around a center.
    pub fn circle(&mut self, look: Look, [x, y]: [i32; 2], radius: i32) {
        self.shape("circle", look).with("cx", x).with("cy", y).with("r", radius.max(0)).end();
    }

    /// Draws a straight line.
    pub fn line(&mut self, look: Look, [x1, y1]: [i32; 2], [x2, y2]: [i32; 2]) {
        self.path(look, &format!("M{x1} {y1}L{x2} {y2}"));
    }

    /// Draws a path; `d` is SVG path data.
    pub fn path(&mut self, look: Look, d: &str) {
        self.shape("path", look).with("d", d).end();
    }

    /// Draws dots of equal size at the given centers as a single SVG shape.
    pub fn spots(&mut self, paint: Paint, radius: i32, points: &[[i32; 2]]) {
        let mut d = String::with_capacity(12 * points.len());
        for [x, y] in points {
            let _ = write!(d, "M{x} {y}h0");
        }
        let look = paint::line(paint, u8::try_from(2 * radius).unwrap_or(u8::MAX));
        self.count(look);
        let path = Element::new(&mut self.body, "path").with("stroke-linecap", "round");
        styled(path, look).with("d", d.as_str()).end();
    }

    /// Draws the shapes of `draw`, translated by `[x, y]` and scaled to `percent` percent of their size.
    pub fn moved(&mut self, [x, y]: [i32; 2], percent: i32, draw: impl FnOnce(&mut Sketch)) {
        let _ = write!(self.body, "<g transform=\"translate({x} {y})");
        if percent != 100 {
            let _ = write!(self.body, "scale({}.{}{})", percent / 100, percent / 10 % 10, percent % 10);
        }
        self.body.push_str("\">");
        draw(self);
        self.body.push_str("</g>");
    }

    /// Draws a text vertically centered at `y`, in a generic sans-serif font.
    pub fn text(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, text: &str) {
        self.letters(paint, anchor, [x, y], size, false).text(text);
    }

    /// Draws a horizontally centered line of text at height `y`. Reduces the font size if the text is too wide.
    pub fn caption(&mut self, y: i32, text: &str) {
        let room = (self.width - 20) * 100 / (55 * text.chars().count().max(1) as i32);
        let usual = (self.width / 30).clamp(15, 26);
        let middle = self.width / 2;
        self.text(Paint::Ink, TextAnchor::Middle, [middle, y], usual.min(room).max(8), text);
    }

    /// Draws a text like [`text`](Sketch::text), in bold.
    pub fn bold(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, text: &str) {
        self.letters(paint, anchor, [x, y], size, true).text(text);
    }

    /// Draws a monospaced text that starts at `at` and preserves spaces.
    pub(super) fn mono(&mut self, paint: Paint, at: [i32; 2], size: i32, text: &str) {
        self.body.push_str("<g font-family=\"ui-monospace,monospace\" style=\"white-space:pre\">");
        self.text(paint, TextAnchor::Start, at, size, text);
        self.body.push_str("</g>");
    }

    fn letters(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, bold: bool) -> Element<'_> {
        // Renderers differ in their support of `dominant-baseline`, so the baseline is computed.
        let baseline = y + size * 36 / 100;
        let text = self.shape("text", paint::fill(paint)).with("x", x).with("y", baseline).with("font-size", size);
        let text = text.anchor(anchor);
        if bold { text.with("font-weight", 700) } else { text }
    }

    /// Adds a clickable cell `[x, y, width, height]` above all shapes.
    pub fn cell(&mut self, name: &str, place: [i32; 4]) {
        placed(Element::new(&mut self.cells, "rect").class("cell").with("data-cell", name), place).end();
    }

    /// Marks a cell as part of the last move. Must be called only if the view contains that move.
    pub fn last(&mut self, name: impl Into<String>) {
        self.last.push(name.into());
    }

    /// Completes the picture with its title and a text description.
    pub fn finish(self, title: &str, desc: &str) -> Picture {
        let [width, height] = [self.width, self.height];
        let style = paint::style(self.fills, self.lines);
        let (title, desc) = (escape(title), escape(desc));
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ludex\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif\" fill=\"none\"><title>{title}</title>\
             <desc>{desc}</desc><style>{style}{CELLS}</style>"
        );
        let mut svg = String::with_capacity(head.len() + self.body.len() + self.cells.len() + 6);
        [&head, &self.body, &self.cells, "</svg>"].iter().for_each(|part| svg.push_str(part));
        let mut picture = Picture { svg, width: width as u32, height: height as u32 };
        picture.mark_last(&self.last);
        picture
    }
}

impl Attribute for Look {
    fn write(&self, out: &mut String) {
        let fill = self.fill.map(|paint| ("f-", paint));
        let line = self.line.map(|(paint, _)| (if fill.is_some() { " s-" } else { "s-" }, paint));
        for (class, paint) in fill.into_iter().chain(line) {
            out.push_str(class);
            out.push_str(paint::name(paint));
        }
    }
}

fn styled(element: Element<'_>, look: Look) -> Element<'_> {
    let element = element.with("class", look);
    match look.line {
        Some((_, width)) if width != 1 => element.with("stroke-width", i32::from(width)),
        _ => element,
    }
}

fn placed(element: Element<'_>, [x, y, width, height]: [i32; 4]) -> Element<'_> {
    element.with("x", x).with("y", y).with("width", width.max(0)).with("height", height.max(0))
}

/// Style of the clickable cells, which are invisible except those of the last move.
const CELLS: &str = ".ludex .cell{fill:none;pointer-events:all}.ludex .last{stroke:var(--ludex-last,#e8590c);\
stroke-width:3;rx:4px}@media(prefers-color-scheme:dark){.ludex .last{stroke:var(--ludex-last,#ffa94d)}}";
