//! Strips: pictures of consecutive positions.

use std::fmt::Write as _;

use super::data::Strip;
use super::svg::escape;

/// Draws pictures with captions, wrapped into lines.
pub(super) fn draw(data: &Strip, title: &str) -> String {
    let mut out = format!("<ol class=\"strip\" aria-label=\"{}\">\n", escape(title));
    for picture in &data.pictures {
        let _ = writeln!(out, "<li>{}<span>{}</span></li>", picture.svg.trim(), escape(&picture.caption));
    }
    out.push_str("</ol>\n");
    out
}
