//! Box plots of distributions.

use ludex_env::svg::TextAnchor;

use super::axes::{AxisScale, RowLabels, below, words};
use super::data::Boxes;
use super::svg::{Svg, WIDTH, colour};
use crate::text::number;

/// Height of a row in the drawing.
const THICK: f64 = 20.0;

/// Draws box plots. The box spans the quartiles, with a line at the median and a dot at the mean. The whiskers end at
/// the minimum and the maximum.
pub(super) fn draw(data: &Boxes, title: &str) -> String {
    let mut svg = Svg::new();
    let rows = RowLabels::of(data.boxes.iter().map(|b| b.name.as_str()));
    let all = data.boxes.iter().filter_map(|b| b.quantiles).flat_map(|q| [q.min, q.max]);
    let scale = AxisScale::of(all, [rows.left, WIDTH - 14.0], 5);
    let top = 4.0;
    let one = rows.name(&mut Svg::new(), "", 0.0, THICK) + THICK + 8.0;
    let bottom = top + one * data.boxes.len() as f64;
    let end = below(&mut svg, &scale, [top, bottom], &data.value);
    if scale.holds(0.0) {
        svg.line("axis", [scale.at(0.0), top], [scale.at(0.0), bottom]);
    }
    let mut y = top + 4.0;
    for b in &data.boxes {
        y = rows.name(&mut svg, &b.name, y, THICK);
        if let Some(q) = b.quantiles {
            let middle = y + THICK / 2.0;
            let [min, q1, median, q3, max, mean] = [q.min, q.q1, q.median, q.q3, q.max, q.mean].map(|v| scale.at(v));
            svg.line("whisker", [min, middle], [q1, middle]);
            svg.line("whisker", [q3, middle], [max, middle]);
            for x in [min, max] {
                svg.line("whisker", [x, middle - 4.0], [x, middle + 4.0]);
            }
            let said = |v: f64| number(Some(v), data.value.digits);
            let tip = format!(
                "{}: {} numbers from {} to {}; quartiles {}, {}, {}; mean {}",
                b.name,
                q.n,
                said(q.min),
                said(q.max),
                said(q.q1),
                said(q.median),
                said(q.q3),
                said(q.mean)
            );
            let class = format!("box {}", colour(0));
            svg.rect(&class, [q1, y + 2.0], [(q3 - q1).max(1.0), THICK - 4.0], &tip);
            svg.line("median", [median, y + 2.0], [median, y + THICK - 2.0]);
            svg.circle("mean", [mean, middle], 3.0, "");
        } else {
            svg.text(TextAnchor::Start, "soft", [rows.left + 4.0, y + THICK / 2.0 + 4.0], "\u{2013}");
        }
        y += THICK + 8.0;
    }
    let about = format!("Box plots of {}; the numbers are in the table below.", words(&data.value));
    svg.end(end, title, &about)
}
