//! Line charts of consecutive numbers.

use ludex_env::svg::length;

use super::axes::{AxisScale, Sign, below, draw_left_axis, ends, legend, measurement_text, room};
use super::data::LineChart;
use super::svg::{Svg, WIDTH, colour};
use crate::text::number;

/// Maximum number of series with bands; more bands would overlap too much.
const BANDS: usize = 4;
/// Maximum number of points of a line with a mark at each point.
const MARKS: usize = 40;

/// Draws a line with marks for each series. With at most [`BANDS`] series, the intervals are drawn as bands.
pub(super) fn draw(data: &LineChart, title: &str) -> String {
    let mut svg = Svg::new();
    let points = || data.lines.iter().flat_map(|line| &line.points);
    let values = || points().flat_map(|(_, m)| ends(m));
    let from = room(values(), 5);
    let [top, bottom] = [24.0, 224.0];
    let x = AxisScale::of(points().map(|(x, _)| *x), [from, WIDTH - 18.0], 5);
    let y = AxisScale::of(values(), [bottom, top], 5);
    draw_left_axis(&mut svg, &y, [from, WIDTH - 18.0], &data.y);
    let end = below(&mut svg, &x, [top, bottom], &data.x);
    for line in data.lines.iter().filter(|_| data.lines.len() <= BANDS) {
        let band = line.points.iter().filter_map(|(at, m)| Some((x.at(*at), y.at(m.low?), y.at(m.high?))));
        let band: Vec<(f64, f64, f64)> = band.collect();
        if band.len() > 1 {
            let there = band.iter().map(|(x, low, _)| format!("{} {}", length(*x), length(*low)));
            let back = band.iter().rev().map(|(x, _, high)| format!("{} {}", length(*x), length(*high)));
            let d = there.chain(back).collect::<Vec<_>>().join("L");
            svg.path(&format!("band {}", colour(line.series)), "", &format!("M{d}Z"), "");
        }
    }
    for line in &data.lines {
        let d: Vec<String> =
            line.points.iter().map(|(at, m)| format!("{} {}", length(x.at(*at)), length(y.at(m.value)))).collect();
        if d.len() > 1 {
            svg.path(&format!("line {}", colour(line.series)), "", &format!("M{}", d.join("L")), &line.name);
        }
        for (at, m) in line.points.iter().filter(|_| line.points.len() <= MARKS) {
            let tip = format!("{}, {}: {}", line.name, number(Some(*at), data.x.digits), measurement_text(m, &data.y));
            svg.mark(line.series, [x.at(*at), y.at(m.value)], &tip);
        }
    }
    let end = legend(&mut svg, data.lines.iter().map(|line| (line.series, &*line.name)), Sign::Mark, end + 2.0);
    svg.end(end, title, &format!("{} by {}; the numbers are in the table below.", data.y.title, data.x.title))
}
