//! Shapes and texts of the drawings. Elements have classes whose colors the page's style sets, so that one drawing
//! works in light mode, dark mode and print.

use ludex_env::svg::{Element, TextAnchor, length};

use crate::text::clean;

/// Width of all drawings in SVG units. Pages scale drawings by 0.8 to 1.4, so that text of size 12 is readable on a
/// phone.
pub(crate) const WIDTH: f64 = 400.0;

/// Number of series colors.
const COLOURS: usize = 8;

/// SVG drawing under construction; elements are added from top to bottom.
pub(crate) struct Svg {
    body: String,
}

impl Svg {
    pub(crate) fn new() -> Svg {
        Svg { body: String::new() }
    }

    fn element(&mut self, name: &'static str, class: &str) -> Element<'_> {
        self.body.push('\n');
        Element::new(&mut self.body, name).class(class)
    }

    pub(crate) fn text(&mut self, anchor: TextAnchor, class: &str, [x, y]: [f64; 2], text: &str) {
        self.element("text", class).anchor(anchor).with("x", x).with("y", y).text(&clean(text));
    }

    pub(crate) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.element("line", class).with("x1", x1).with("y1", y1).with("x2", x2).with("y2", y2).end();
    }

    /// Adds a rectangle with a tooltip.
    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2], tip: &str) {
        let rect = self.element("rect", class).with("x", x).with("y", y);
        rect.with("width", width.max(0.0)).with("height", height).tip(&clean(tip));
    }

    /// Adds a path with a tooltip. `style` may be empty.
    pub(crate) fn path(&mut self, class: &str, style: &str, d: &str, tip: &str) {
        let path = self.element("path", class);
        let path = if style.is_empty() { path } else { path.with("style", style) };
        path.with("d", d).tip(&clean(tip));
    }

    pub(crate) fn circle(&mut self, class: &str, [x, y]: [f64; 2], radius: f64, tip: &str) {
        self.element("circle", class).with("cx", x).with("cy", y).with("r", radius).tip(&clean(tip));
    }

    /// Adds the mark of series `k`. Marks differ in both color and shape, so that they are distinct without color.
    pub(crate) fn mark(&mut self, k: usize, [x, y]: [f64; 2], tip: &str) {
        let class = format!("dot {}", colour(k));
        let poly = |points: &[[f64; 2]]| {
            let points: Vec<String> =
                points.iter().map(|[dx, dy]| format!("{} {}", length(x + dx), length(y + dy))).collect();
            format!("M{}Z", points.join("L"))
        };
        match (k / COLOURS + k) % 5 {
            0 => self.circle(&class, [x, y], 4.0, tip),
            1 => self.rect(&class, [x - 3.6, y - 3.6], [7.2, 7.2], tip),
            2 => self.path(&class, "", &poly(&[[0.0, -4.8], [4.6, 3.6], [-4.6, 3.6]]), tip),
            3 => self.path(&class, "", &poly(&[[0.0, -5.0], [5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]]), tip),
            _ => self.path(&class, "", &poly(&[[0.0, 4.8], [4.6, -3.6], [-4.6, -3.6]]), tip),
        }
    }

    /// Returns the complete `<svg>` element.
    pub(crate) fn end(self, height: f64, title: &str, about: &str) -> String {
        let (w, h) = (length(WIDTH), length(height));
        let desc = if about.is_empty() { String::new() } else { format!("\n<desc>{}</desc>", escape(about)) };
        format!(
            "<svg class=\"figure\" viewBox=\"0 0 {w} {h}\" role=\"img\">\n<title>{}</title>{desc}{}\n</svg>\n",
            escape(title),
            apostrophes(&self.body)
        )
    }
}

/// Returns the CSS classes of series `k`.
pub(crate) fn colour(k: usize) -> String {
    let again = if (k / COLOURS) % 2 == 1 { " again" } else { "" };
    format!("c{}{again}", k % COLOURS)
}

/// Returns a drawing with a message instead of data.
pub(crate) fn nothing(title: &str, why: &str) -> String {
    let mut svg = Svg::new();
    svg.text(TextAnchor::Middle, "soft", [WIDTH / 2.0, 34.0], why);
    svg.end(60.0, title, why)
}

/// Returns the approximate width of a text of size 12.
pub(crate) fn width(text: &str) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | ';' | '|' | '\'' | '(' | ')' | '[' | ']' | ' ' | 'I' | '/' => {
            3.8
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 10.2,
        'A'..='Z' | '\u{2013}' => 8.2,
        _ if u32::from(c) >= 0x1100 => 12.0,
        _ => 6.8,
    };
    text.chars().map(of).sum::<f64>() * 1.12
}

/// Shortens a text to a width of about `most` at size 12, by omitting its middle.
pub(crate) fn fit(text: &str, most: f64) -> String {
    let text = clean(text);
    if width(&text) <= most {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    // Keep both ends, which identify agents: a family at the start, a variant at the end.
    for kept in (2..letters.len()).rev() {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let cut: String = letters[..head].iter().chain(&['\u{2026}']).chain(&letters[letters.len() - tail..]).collect();
        if width(&cut) <= most {
            return cut;
        }
    }
    "\u{2026}".to_owned()
}

/// Escapes a name for SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    apostrophes(&ludex_env::svg::escape(&clean(text)))
}

/// Escapes apostrophes, as the templates of pages do.
fn apostrophes(escaped: &str) -> String {
    escaped.replace('\'', "&#x27;")
}
