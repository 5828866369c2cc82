//! SVG as text. Elements have classes, and the page's style sets their colors, so that one drawing works in light mode,
//! dark mode and print.

use std::fmt::Write as _;

use crate::text::clean;

/// Width of all drawings. They are displayed at 0.8 to 1.4 of it, so that text of size 12 is readable on a phone.
pub(crate) const WIDTH: f64 = 400.0;

/// Number of series colors.
const COLOURS: usize = 8;

/// Drawing that grows downward.
pub(crate) struct Svg {
    body: String,
}

/// Horizontal alignment of a text.
#[derive(Clone, Copy)]
pub(crate) enum Hold {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(crate) fn new() -> Svg {
        Svg { body: String::new() }
    }

    /// Adds a text, which is escaped.
    pub(crate) fn text(&mut self, hold: Hold, class: &str, [x, y]: [f64; 2], text: &str) {
        let anchor = match hold {
            Hold::Start => "",
            Hold::Middle => " text-anchor=\"middle\"",
            Hold::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(self.body, "<text{}{anchor} x=\"{}\" y=\"{}\">{}</text>", of(class), n(x), n(y), escape(text));
    }

    pub(crate) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let _ = writeln!(
            self.body,
            "<line{} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            of(class),
            n(x1),
            n(y1),
            n(x2),
            n(y2)
        );
    }

    /// Adds a rectangle with a tooltip.
    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2], tip: &str) {
        let _ = writeln!(
            self.body,
            "<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}",
            of(class),
            n(x),
            n(y),
            n(width.max(0.0)),
            n(height),
            closed("rect", tip)
        );
    }

    /// Adds a path with a tooltip. `style` may be empty.
    pub(crate) fn path(&mut self, class: &str, style: &str, d: &str, tip: &str) {
        let style = if style.is_empty() { String::new() } else { format!(" style=\"{style}\"") };
        let _ = writeln!(self.body, "<path{}{style} d=\"{d}\"{}", of(class), closed("path", tip));
    }

    pub(crate) fn circle(&mut self, class: &str, [x, y]: [f64; 2], radius: f64, tip: &str) {
        let _ = writeln!(
            self.body,
            "<circle{} cx=\"{}\" cy=\"{}\" r=\"{}\"{}",
            of(class),
            n(x),
            n(y),
            n(radius),
            closed("circle", tip)
        );
    }

    /// Adds the mark of series `k`: marks differ in color and shape, so that color is not needed.
    pub(crate) fn mark(&mut self, k: usize, [x, y]: [f64; 2], tip: &str) {
        let class = format!("dot {}", colour(k));
        let poly = |points: &[[f64; 2]]| {
            let points: Vec<String> = points.iter().map(|[dx, dy]| format!("{} {}", n(x + dx), n(y + dy))).collect();
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

    /// Returns the complete element.
    pub(crate) fn end(self, height: f64, title: &str, about: &str) -> String {
        let (w, h) = (n(WIDTH), n(height));
        let desc = if about.is_empty() { String::new() } else { format!("<desc>{}</desc>\n", escape(about)) };
        format!(
            "<svg class=\"figure\" viewBox=\"0 0 {w} {h}\" role=\"img\">\n<title>{}</title>\n{desc}{}</svg>\n",
            escape(title),
            self.body
        )
    }
}

/// Returns the classes of series `k`.
pub(crate) fn colour(k: usize) -> String {
    let again = if (k / COLOURS) % 2 == 1 { " again" } else { "" };
    format!("c{}{again}", k % COLOURS)
}

/// Returns a drawing with a message instead of data.
pub(crate) fn nothing(title: &str, why: &str) -> String {
    let mut svg = Svg::new();
    svg.text(Hold::Middle, "soft", [WIDTH / 2.0, 34.0], why);
    svg.end(60.0, title, why)
}

/// Formats a length with at most one decimal. NaN and infinite lengths become 0.
pub(crate) fn n(x: f64) -> String {
    if !x.is_finite() {
        return "0".to_owned();
    }
    // Adding zero turns -0 into 0.
    format!("{}", (x * 10.0).round() / 10.0 + 0.0)
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

/// Shortens a text in the middle to a width of about `most` at size 12.
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

fn of(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}

fn closed(element: &str, tip: &str) -> String {
    if tip.is_empty() { "/>".to_owned() } else { format!("><title>{}</title></{element}>", escape(tip)) }
}

/// Escapes text for XML, and replaces characters that XML forbids or that reverse the line.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}
