//! Bar charts: a group for each row, a bar for each column, with whiskers for intervals.

use ludex_env::svg::TextAnchor;

use super::axes::{AxisScale, RowLabels, Sign, below, ends, legend, measurement_text};
use super::data::{Axis, Grid};
use super::svg::{Svg, WIDTH, colour, width};
use crate::text::number;

/// Draws horizontal bars from zero. Even with long names and forty rows, the drawing is readable on a phone.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    let mut svg = Svg::new();
    let series: Vec<(usize, String)> = grid.series().collect();
    let first = grid.columns.first().map(|c| c.axis.clone()).unwrap_or_default();
    // A single series with the title of the axis needs no legend.
    let alone = series.len() == 1 && series[0].1 == first.title;
    let top = if alone {
        4.0
    } else {
        legend(&mut svg, series.iter().map(|(k, name)| (*k, name.as_str())), Sign::Patch, 2.0) + 2.0
    };
    // If titles or units differ, the axis has no title, and the legend names the columns.
    let alike = grid.columns.iter().all(|c| c.axis.title == first.title && c.axis.unit == first.unit);
    let axis = if alike { first } else { Axis { digits: first.digits, ..Axis::default() } };
    let rows = RowLabels::of(grid.rows.iter().map(String::as_str));
    let all = || grid.cells.iter().flatten().flatten();
    let texts = all().map(|m| width(&number(Some(m.value), axis.digits))).fold(0.0, f64::max);
    let scale = AxisScale::of(all().flat_map(ends).chain([0.0]), [rows.left, WIDTH - texts - 8.0], 4);
    let thick = if series.len() > 1 { 12.0 } else { 15.0 };
    let height = thick * series.len().max(1) as f64;
    // The grid lines are drawn first, under the bars, so their end is computed in advance.
    let mut bottom = top;
    for _ in &grid.rows {
        bottom += height + rows.name(&mut Svg::new(), "", 0.0, height) + 8.0;
    }
    let end = below(&mut svg, &scale, [top, bottom], &axis);
    let mut y = top + 4.0;
    for (r, name) in grid.rows.iter().enumerate() {
        y = rows.name(&mut svg, name, y, height);
        for (c, (column, (k, _))) in grid.columns.iter().zip(&series).enumerate() {
            let Some(m) = grid.at(r, c) else { continue };
            let tip = format!("{name}, {}: {}", column.full(), measurement_text(&m, &column.axis));
            bar(&mut svg, &scale, &m, [y + thick * c as f64, thick], &colour(*k), &tip, &column.axis);
        }
        y += height + 8.0;
    }
    // Zero line, where the bars start.
    svg.line("axis", [scale.at(0.0), top], [scale.at(0.0), bottom]);
    let of = if alike {
        super::axes::words(&axis)
    } else {
        series.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    svg.end(end, title, &format!("Bars of {of}; the numbers are in the table below."))
}

fn bar(
    svg: &mut Svg,
    scale: &AxisScale,
    m: &ludex_referee::metric::Measurement,
    at: [f64; 2],
    colour: &str,
    tip: &str,
    axis: &Axis,
) {
    let [y, thick] = at;
    let (zero, x) = (scale.at(0.0), scale.at(m.value));
    svg.rect(&format!("bar {colour}"), [zero.min(x), y + 1.0], [(x - zero).abs(), thick - 2.0], tip);
    let middle = y + thick / 2.0;
    let mut right = zero.max(x);
    if let (Some(low), Some(high)) = (m.low, m.high) {
        let (low, high) = (scale.at(low), scale.at(high));
        svg.line("whisker", [low, middle], [high, middle]);
        for x in [low, high] {
            svg.line("whisker", [x, middle - 3.0], [x, middle + 3.0]);
        }
        right = right.max(high);
    }
    svg.text(TextAnchor::Start, "small", [right + 4.0, middle + 3.8], &number(Some(m.value), axis.digits));
}
