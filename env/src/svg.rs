//! SVG as text: elements, attributes and the escaping of text, for pictures, figures and pages.
//!
//! ```
//! use ludex_env::svg::Element;
//!
//! let mut out = String::new();
//! Element::new(&mut out, "text").class("soft").with("x", 3.25).text("<b>");
//! assert_eq!(out, "<text class=\"soft\" x=\"3.3\">&lt;b&gt;</text>");
//! ```

use itoa::Buffer;

/// Alignment of a text relative to its anchor point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAnchor {
    /// The text starts at the point.
    Start,
    /// The text is centered on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// Value of an attribute.
pub trait Attribute {
    /// Appends the value, escaped.
    fn write(&self, out: &mut String);
}

impl Attribute for i32 {
    fn write(&self, out: &mut String) {
        out.push_str(Buffer::new().format(*self));
    }
}

impl Attribute for f64 {
    fn write(&self, out: &mut String) {
        out.push_str(&length(*self));
    }
}

impl Attribute for &str {
    fn write(&self, out: &mut String) {
        escape_to(out, self);
    }
}

/// An opening tag at the end of the output, to which attributes can be added. One of the methods [`end`](Element::end),
/// [`text`](Element::text) and [`tip`](Element::tip) completes the element.
#[must_use = "the tag is still open"]
pub struct Element<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl<'a> Element<'a> {
    /// Opens a tag without its closing bracket, so that attributes can follow.
    pub fn new(out: &'a mut String, name: &'static str) -> Element<'a> {
        out.push('<');
        out.push_str(name);
        Element { out, name }
    }

    /// Adds an attribute.
    pub fn with(self, name: &str, value: impl Attribute) -> Element<'a> {
        for part in [" ", name, "=\""] {
            self.out.push_str(part);
        }
        value.write(self.out);
        self.out.push('"');
        self
    }

    /// Adds the classes in `class`, unless `class` is empty.
    pub fn class(self, class: &str) -> Element<'a> {
        if class.is_empty() { self } else { self.with("class", class) }
    }

    /// Adds the alignment of a text.
    pub fn anchor(self, anchor: TextAnchor) -> Element<'a> {
        match anchor {
            TextAnchor::Start => self,
            TextAnchor::Middle => self.with("text-anchor", "middle"),
            TextAnchor::End => self.with("text-anchor", "end"),
        }
    }

    /// Completes an element without content.
    pub fn end(self) {
        self.out.push_str("/>");
    }

    /// Completes an element with a text as content.
    pub fn text(self, text: &str) {
        self.out.push('>');
        escape_to(self.out, text);
        for part in ["</", self.name, ">"] {
            self.out.push_str(part);
        }
    }

    /// Completes an element with a tooltip, or without content if `tip` is empty.
    pub fn tip(self, tip: &str) {
        if tip.is_empty() {
            return self.end();
        }
        self.out.push('>');
        Element::new(self.out, "title").text(tip);
        for part in ["</", self.name, ">"] {
            self.out.push_str(part);
        }
    }
}

/// Formats a length with at most one decimal. NaN and infinite lengths become 0.
pub fn length(x: f64) -> String {
    if !x.is_finite() {
        return "0".to_owned();
    }
    // Adding zero turns -0 into 0.
    format!("{}", (x * 10.0).round() / 10.0 + 0.0)
}

/// Escapes a text for elements and attributes of SVG and HTML. Line breaks become spaces. Control characters and
/// characters that change the text direction become `?`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_to(&mut out, text);
    out
}

fn escape_to(out: &mut String, text: &str) {
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
                out.push('?');
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_replaces_special_characters() {
        assert_eq!(escape("a<b>&\"c\"\u{1}\n\u{202e}"), "a&lt;b&gt;&amp;&quot;c&quot;? ?");
    }

    #[test]
    fn lengths_have_one_decimal_and_no_negative_zero() {
        assert_eq!([1.0, 2.25, -0.01, f64::NAN, f64::INFINITY].map(length), ["1", "2.3", "0", "0", "0"]);
    }
}
