//! Stacked bars: the shares of a whole.

use ludex_env::svg::TextAnchor;

use super::axes::{AxisScale, RowLabels, Sign, below, legend, words};
use super::data::{Axis, Grid};
use super::svg::{Svg, WIDTH, colour};
use crate::text::number;

/// Height of a bar.
const THICK: f64 = 18.0;

/// Draws one bar for each row, divided into a piece for each column. All bars have the same length, 100 %.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    let mut svg = Svg::new();
    let series: Vec<(usize, String)> = grid.series().collect();
    let top = legend(&mut svg, series.iter().map(|(k, name)| (*k, name.as_str())), Sign::Patch, 2.0) + 2.0;
    let rows = RowLabels::of(grid.rows.iter().map(String::as_str));
    let scale = AxisScale::of([0.0, 100.0], [rows.left, WIDTH - 14.0], 4);
    let one = rows.name(&mut Svg::new(), "", 0.0, THICK) + THICK + 8.0;
    let bottom = top + one * grid.rows.len() as f64;
    let axis = grid.columns.first().map_or(Axis::default(), |c| c.axis.clone());
    let along = Axis { title: axis.title.clone(), unit: "%".to_owned(), digits: 0 };
    let end = below(&mut svg, &scale, [top, bottom], &along);
    let mut y = top + 4.0;
    for (r, name) in grid.rows.iter().enumerate() {
        y = rows.name(&mut svg, name, y, THICK);
        // Negative and missing shares have no width.
        let share = |c: usize| grid.at(r, c).map_or(0.0, |m| m.value.max(0.0));
        let whole: f64 = (0..grid.columns.len()).map(share).sum();
        let mut from = 0.0;
        for (c, (column, (k, _))) in grid.columns.iter().zip(&series).enumerate().filter(|_| whole > 0.0) {
            let part = 100.0 * share(c) / whole;
            if part <= 0.0 {
                continue;
            }
            let (x, to) = (scale.at(from), scale.at(from + part));
            let text = number(Some(part), 0);
            let tip = format!("{name}, {}: {} %", column.full(), number(Some(part), 1));
            svg.rect(&format!("bar piece {}", colour(*k)), [x, y], [to - x, THICK], &tip);
            if to - x >= 22.0 {
                svg.text(TextAnchor::Middle, "small on", [x.midpoint(to), y + THICK / 2.0 + 3.8], &text);
            }
            from += part;
        }
        if whole <= 0.0 {
            svg.text(TextAnchor::Start, "soft", [rows.left + 4.0, y + THICK / 2.0 + 4.0], "\u{2013}");
        }
        y += THICK + 8.0;
    }
    svg.end(end, title, &format!("Shares of {}; the numbers are in the table below.", words(&axis)))
}
