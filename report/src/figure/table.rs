//! Tables of numbers with their intervals.

use std::fmt::Write as _;

use ludex_referee::metric::Measurement;

use super::data::Grid;
use super::svg::escape;
use crate::text::{measured, number};

/// Renders an HTML table with one or two header lines.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    html(grid, title, &|_, _, m, digits| {
        let mut text = escape(&measured(m, digits));
        if let (Some(low), Some(high)) = (m.low, m.high) {
            let _ =
                write!(text, "<small>{} \u{2026} {}</small>", number(Some(low), digits), number(Some(high), digits));
        }
        (String::new(), text)
    })
}

/// Function that returns the HTML attributes and the text of a cell.
pub(super) type CellText<'a> = &'a dyn Fn(usize, usize, &Measurement, usize) -> (String, String);

/// Maximum number of columns at normal text size in print; wider tables have small text.
const MANY: usize = 9;

/// Renders a grid as an HTML table, in a scrollable region.
pub(super) fn html(grid: &Grid, title: &str, cell: CellText) -> String {
    let many = if grid.columns.len() > MANY { " many" } else { "" };
    let mut out = format!(
        "<div class=\"wide{many}\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">\n<table>\n<thead>\n",
        escape(title)
    );
    let two = grid.columns.iter().any(|c| !c.under.is_empty());
    let corner = if two { " rowspan=\"2\"" } else { "" };
    let _ = write!(out, "<tr><th scope=\"col\"{corner}>{}</th>", escape(&grid.corner));
    if two {
        for (under, span) in spans(grid) {
            let scope = if span > 1 { "colgroup" } else { "col" };
            let _ = write!(out, "<th class=\"over\" scope=\"{scope}\" colspan=\"{span}\">{}</th>", escape(under));
        }
        out.push_str("</tr>\n<tr>");
    }
    for column in &grid.columns {
        // A unit that all columns share is in the caption, not in the headings.
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(&column.name));
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    let own = grid.rows.len() - grid.margin_rows.min(grid.rows.len());
    let plain = grid.columns.len() - grid.margin_columns.min(grid.columns.len());
    let places: Vec<[Option<f64>; 2]> = (0..grid.columns.len()).map(|c| grid.places(c)).collect();
    for (r, name) in grid.rows.iter().enumerate() {
        let margin = if r >= own { " class=\"margin\"" } else { "" };
        let _ = write!(out, "<tr{margin}><th scope=\"row\">{}</th>", escape(name));
        for (c, column) in grid.columns.iter().enumerate() {
            let Some(m) = grid.at(r, c) else {
                out.push_str("<td class=\"none\">\u{2013}</td>");
                continue;
            };
            let (attributes, text) = cell(r, c, &m, column.axis.digits);
            let class = match places[c] {
                _ if r >= own => "",
                [Some(best), _] if best == m.value => " class=\"best\"",
                [_, Some(second)] if second == m.value => " class=\"second\"",
                _ if c >= plain => " class=\"margin\"",
                _ => "",
            };
            // Both `class` and `attributes` may set a class; the class in `attributes` takes precedence.
            let class = if attributes.contains("class=") { "" } else { class };
            let text = match grid.link_at(r, c) {
                Some(href) => format!("<a href=\"{}\">{text}</a>", escape(href)),
                None => text,
            };
            let _ = write!(out, "<td{class}{attributes}>{text}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    out
}

/// Returns the text and the number of columns of each shared heading.
fn spans(grid: &Grid) -> Vec<(&str, usize)> {
    let mut out: Vec<(&str, usize)> = Vec::new();
    for column in &grid.columns {
        match out.last_mut() {
            Some((under, span)) if *under == column.under => *span += 1,
            _ => out.push((&column.under, 1)),
        }
    }
    out
}
