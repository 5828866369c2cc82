//! Sanitization of texts from clients. Templates escape the sanitized texts.

use std::fmt::Write as _;

use minijinja::HtmlEscape;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Maximum length of a displayed name in characters.
pub const NAME: usize = 60;

/// Maximum length of other displayed texts in characters.
pub(crate) const LONG: usize = 2_000;

/// Returns `text` without control characters other than line breaks and without characters that change the text
/// direction. The result is truncated to `most` characters.
pub fn clean(text: &str, most: usize) -> String {
    let turns = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown: String =
        text.chars().filter(|c| !turns(c) && (!c.is_control() || *c == '\n')).take(most + 1).collect();
    if shown.chars().count() > most {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// Returns a name as HTML for a table cell, in which lines may break after `_` and `=`.
pub(crate) fn cell(name: &str) -> String {
    // Escapes first: escape sequences contain neither `_` nor `=`, so no break is inserted into them.
    let escaped = HtmlEscape(&clean(name, LONG)).to_string();
    ["_", "="].into_iter().fold(escaped, |text, end| text.replace(end, &format!("{end}<wbr>")))
}

/// Formats a time in milliseconds since the Unix epoch as `2026-11-23 06:04` in UTC.
pub(crate) fn when(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |t| t.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Formats an RFC 3339 time as `2026-11-23 06:04` in UTC.
pub fn minute(moment: &str) -> String {
    moment.parse::<jiff::Timestamp>().map_or_else(|_| clean(moment, NAME), |t| when(t.as_millisecond()))
}

/// Percent-encodes a segment of a path or a value of a query.
pub fn path(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// Renders a game's Markdown documentation as HTML. Omits the title, since the page has one, and escapes embedded HTML.
pub fn rules(markdown: &str) -> String {
    render(markdown, false)
}

/// Renders a Markdown text of an operator as HTML. Escapes embedded HTML and removes control characters. Titles become
/// headings of the second level, since the page has a title.
pub fn document(markdown: &str) -> String {
    render(&clean(markdown, markdown.len()), true)
}

fn render(markdown: &str, with_title: bool) -> String {
    let mut title = false;
    let level = HeadingLevel::H2;
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Heading { level: HeadingLevel::H1, id, classes, attrs }) if with_title => {
            Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(HeadingLevel::H1)) if with_title => Some(Event::End(TagEnd::Heading(level))),
        Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
            title = true;
            None
        }
        Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
            title = false;
            None
        }
        _ if title => None,
        // Comments delimit the ladder's table.
        Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => None,
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Link { dest_url, .. }) if !dest_url.starts_with('#') && !dest_url.starts_with("https://") => {
            Some(Event::Start(Tag::Emphasis))
        }
        event => Some(event),
    });
    let mut links = Vec::new();
    // Links to files of the documentation do not resolve here, so only their text remains.
    let parser = parser.map(move |event| match &event {
        Event::Start(Tag::Link { .. }) => {
            links.push(true);
            event
        }
        Event::Start(Tag::Emphasis) => {
            links.push(false);
            event
        }
        Event::End(TagEnd::Link) => match links.pop() {
            Some(false) => Event::End(TagEnd::Emphasis),
            _ => event,
        },
        Event::End(TagEnd::Emphasis) => {
            links.pop();
            event
        }
        _ => event,
    });
    let mut out = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut out, parser);
    out.replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>").replace("</table>", "</table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sanitized() {
        assert_eq!(clean("a\u{202e}b\u{7}\u{2066}c", 9), "abc");
        assert_eq!(clean(&"x".repeat(10_000), 5), "xxxxx…");
        assert_eq!(path("a b/<é>"), "a%20b%2F%3C%C3%A9%3E");
    }

    #[test]
    fn long_names_get_line_breaks_between_words() {
        assert_eq!(cell("tic_tac_toe"), "tic_<wbr>tac_<wbr>toe");
        assert_eq!(cell("<b>&\"'\u{202e}_"), "&lt;b&gt;&amp;&quot;&#x27;_<wbr>");
    }

    #[test]
    fn rules_html_escapes_embedded_html() {
        let html = rules(
            "# Title\n\nA [page](chess.md) and <script>x</script> *em* [s](https://a.b).\n\n<!-- c -->\n\n| a |\n|---|\n| 1 |\n",
        );
        assert!(!html.contains("Title") && !html.contains("<script") && !html.contains("<!--"), "{html}");
        assert!(html.contains("A <em>page</em> and &lt;script&gt;x&lt;/script&gt; <em>em</em>"), "{html}");
        assert!(html.contains("<a href=\"https://a.b\">s</a>") && html.contains("<table>"), "{html}");
        let html = document("# Title\n\n<img src=x>\u{202e}[a](javascript:x)\n");
        assert!(html.contains("<h2>Title</h2>") && !html.contains("<img") && !html.contains("javascript"), "{html}");
    }

    #[test]
    fn times_are_formatted_to_the_minute() {
        assert_eq!(when(1_764_000_000_000), "2025-11-24 16:00");
        assert_eq!([minute("2026-11-23T13:59:33.584Z"), minute("soon")], ["2026-11-23 13:59", "soon"]);
    }
}
