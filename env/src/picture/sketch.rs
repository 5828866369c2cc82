//! Shapes in SVG.

use itoa::Buffer;

use super::paint::{self, Look, Paint};
use super::{Picture, escape};

/// Alignment of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAnchor {
    /// The text starts at the point.
    Start,
    /// The text is centered on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// A picture under construction. Units are those of the `viewBox`; y increases downwards.
pub struct Sketch {
    body: String,
    /// Clickable cells, drawn above everything else.
    cells: String,
    last: Vec<String>,
    width: i32,
    height: i32,
    fills: u64,
    lines: u64,
}

impl Sketch {
    /// Creates an empty picture of this size, at least 1 each way.
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

    /// Returns width and height.
    pub fn size(&self) -> [i32; 2] {
        [self.width, self.height]
    }

    fn number(&mut self, name: &str, value: i32) {
        self.body.push_str(name);
        self.body.push_str(Buffer::new().format(value));
        self.body.push('"');
    }

    fn look(&mut self, look: Look) {
        self.body.push_str(" class=\"");
        if let Some(paint) = look.fill {
            self.fills |= 1 << paint as u64;
            self.body.push_str("f-");
            self.body.push_str(paint::name(paint));
        }
        if let Some((paint, width)) = look.line {
            self.lines |= 1 << paint as u64;
            self.body.push_str(if look.fill.is_some() { " s-" } else { "s-" });
            self.body.push_str(paint::name(paint));
            if width != 1 {
                self.number("\" stroke-width=\"", width.into());
                return;
            }
        }
        self.body.push('"');
    }

    /// Draws a rectangle `[x, y, width, height]` with corners of `radius`.
    pub fn rect(&mut self, look: Look, [x, y, width, height]: [i32; 4], radius: i32) {
        self.body.push_str("<rect");
        self.look(look);
        self.number(" x=\"", x);
        self.number(" y=\"", y);
        self.number(" width=\"", width.max(0));
        self.number(" height=\"", height.max(0));
        if radius > 0 {
            self.number(" rx=\"", radius);
        }
        self.body.push_str("/>");
    }

    /// Draws a circle around a center.
    pub fn circle(&mut self, look: Look, [x, y]: [i32; 2], radius: i32) {
        self.body.push_str("<circle");
        self.look(look);
        self.number(" cx=\"", x);
        self.number(" cy=\"", y);
        self.number(" r=\"", radius.max(0));
        self.body.push_str("/>");
    }

    /// Draws a straight line.
    pub fn line(&mut self, look: Look, [x1, y1]: [i32; 2], [x2, y2]: [i32; 2]) {
        let mut buffers = [Buffer::new(), Buffer::new(), Buffer::new(), Buffer::new()];
        let mut d = String::with_capacity(24);
        for ((letter, buffer), value) in ["M", " ", "L", " "].into_iter().zip(&mut buffers).zip([x1, y1, x2, y2]) {
            d.push_str(letter);
            d.push_str(buffer.format(value));
        }
        self.path(look, &d);
    }

    /// Draws a path; `d` is SVG path data.
    pub fn path(&mut self, look: Look, d: &str) {
        self.body.push_str("<path");
        self.look(look);
        self.body.push_str(" d=\"");
        self.body.push_str(d);
        self.body.push_str("\"/>");
    }

    /// Draws dots of equal size at the given centers as a single SVG shape.
    pub fn spots(&mut self, paint: Paint, radius: i32, points: &[[i32; 2]]) {
        let mut d = String::with_capacity(12 * points.len());
        for [x, y] in points {
            d.push('M');
            d.push_str(Buffer::new().format(*x));
            d.push(' ');
            d.push_str(Buffer::new().format(*y));
            d.push_str("h0");
        }
        self.body.push_str("<path stroke-linecap=\"round\"");
        self.look(paint::line(paint, u8::try_from(2 * radius).unwrap_or(u8::MAX)));
        self.body.push_str(" d=\"");
        self.body.push_str(&d);
        self.body.push_str("\"/>");
    }

    /// Translates the shapes of `draw` by `[x, y]` and scales them to `percent`.
    pub fn moved(&mut self, [x, y]: [i32; 2], percent: i32, draw: impl FnOnce(&mut Sketch)) {
        self.number("<g transform=\"translate(", x);
        self.body.pop();
        self.number(" ", y);
        self.body.pop();
        self.body.push(')');
        if percent != 100 {
            self.body.push_str("scale(");
            let [whole, tens, ones] = [percent / 100, percent / 10 % 10, percent % 10];
            for (mark, digit) in ["", ".", ""].into_iter().zip([whole, tens, ones]) {
                self.body.push_str(mark);
                self.body.push_str(Buffer::new().format(digit));
            }
            self.body.push(')');
        }
        self.body.push_str("\">");
        draw(self);
        self.body.push_str("</g>");
    }

    /// Draws a text vertically centered at `y`, in a generic sans-serif font.
    pub fn text(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, text: &str) {
        self.letters(paint, anchor, [x, y], size, text, false);
    }

    /// Draws a line of text in the horizontal center at height `y`, in a smaller font if it would not fit.
    pub fn caption(&mut self, y: i32, text: &str) {
        let room = (self.width - 20) * 100 / (55 * text.chars().count().max(1) as i32);
        let usual = (self.width / 30).clamp(15, 26);
        let middle = self.width / 2;
        self.text(Paint::Ink, TextAnchor::Middle, [middle, y], usual.min(room).max(8), text);
    }

    /// Draws a text like [`text`](Sketch::text), in bold.
    pub fn bold(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, text: &str) {
        self.letters(paint, anchor, [x, y], size, text, true);
    }

    /// Draws a monospaced text that starts at `x` and preserves blanks.
    pub(super) fn mono(&mut self, paint: Paint, at: [i32; 2], size: i32, text: &str) {
        self.body.push_str("<g font-family=\"ui-monospace,monospace\" style=\"white-space:pre\">");
        self.letters(paint, TextAnchor::Start, at, size, text, false);
        self.body.push_str("</g>");
    }

    fn letters(&mut self, paint: Paint, anchor: TextAnchor, [x, y]: [i32; 2], size: i32, text: &str, bold: bool) {
        self.body.push_str("<text");
        self.look(paint::fill(paint));
        self.number(" x=\"", x);
        // Renderers differ in their support of `dominant-baseline`, so the baseline is computed.
        self.number(" y=\"", y + size * 36 / 100);
        self.number(" font-size=\"", size);
        self.body.push_str(match anchor {
            TextAnchor::Start => "",
            TextAnchor::Middle => " text-anchor=\"middle\"",
            TextAnchor::End => " text-anchor=\"end\"",
        });
        self.body.push_str(if bold { " font-weight=\"700\">" } else { ">" });
        self.body.push_str(&escape(text));
        self.body.push_str("</text>");
    }

    /// Adds a clickable cell above everything else: `[x, y, width, height]`.
    pub fn cell(&mut self, name: &str, [x, y, width, height]: [i32; 4]) {
        let body = std::mem::take(&mut self.body);
        self.body = std::mem::take(&mut self.cells);
        self.body.push_str("<rect class=\"cell");
        self.body.push_str("\" data-cell=\"");
        self.body.push_str(&escape(name));
        self.number("\" x=\"", x);
        self.number(" y=\"", y);
        self.number(" width=\"", width.max(0));
        self.number(" height=\"", height.max(0));
        self.body.push_str("/>");
        self.cells = std::mem::replace(&mut self.body, body);
    }

    /// Marks a cell as part of the last move, if the view contains that move.
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

/// Cells are invisible unless marked.
const CELLS: &str = ".ludex .cell{fill:none;pointer-events:all}.ludex .last{stroke:var(--ludex-last,#e8590c);\
stroke-width:3;rx:4px}@media(prefers-color-scheme:dark){.ludex .last{stroke:var(--ludex-last,#ffa94d)}}";
