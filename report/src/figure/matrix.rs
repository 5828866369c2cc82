//! Matrix: a table with cells colored by their numbers.

use ludex_env::svg::length;

use super::data::Grid;
use super::table::html;
use crate::text::number;

/// Draws an HTML table. The color of a cell is stronger for numbers farther from zero. Negative and positive numbers
/// have different colors.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    let values = || grid.cells.iter().flatten().flatten().map(|m| m.value);
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    // If there are negative numbers, the number farthest from zero, on either side, has the strongest color.
    let signed = low < 0.0;
    let reach = if signed { low.abs().max(high.abs()) } else { high - low.min(0.0) };
    html(grid, title, &|_, _, m, digits| {
        let share = if reach > 0.0 { (m.value / reach).clamp(-1.0, 1.0) } else { 0.0 };
        let class = if share < 0.0 { "cold" } else { "warm" };
        let tip = match (m.low, m.high) {
            (Some(low), Some(high)) => {
                format!(" title=\"{} \u{2026} {}\"", number(Some(low), digits), number(Some(high), digits))
            }
            _ => String::new(),
        };
        let attributes = format!(" class=\"cell {class}\" style=\"--s:{}\"{tip}", length(share.abs() * 100.0));
        (attributes, number(Some(m.value), digits))
    })
}
