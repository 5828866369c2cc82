//! Hexagonal heat map of point density.

use std::collections::BTreeMap;

use ludex_env::svg::{TextAnchor, length};

use super::axes::{AxisScale, below, draw_left_axis, room};
use super::data::Points;
use super::svg::{Svg, WIDTH};

/// Half the height of a hexagon.
const RADIUS: f64 = 11.0;

/// Distance of two rows of hexagons.
const ROW: f64 = 1.5 * RADIUS;

/// Draws the plane divided into hexagons. Hexagons with more points are darker. If all vertical coordinates are whole
/// numbers in a small range, each row of hexagons lies on one number.
pub(super) fn draw(data: &Points, title: &str) -> String {
    let mut svg = Svg::new();
    let points = || data.groups.iter().flat_map(|group| &group.points);
    let from = room(points().map(|p| p.y), 5) + RADIUS;
    let top = 24.0;
    let right = WIDTH - 18.0;
    let x = AxisScale::of(points().map(|p| p.x), [from + RADIUS, right - RADIUS], 5);
    let span = AxisScale::of(points().map(|p| p.y), [0.0, 1.0], 5).span();
    let whole = span <= 12.0 && points().all(|p| p.y.fract() == 0.0);
    let height = if whole { span * ROW } else { 200.0 - 4.0 * RADIUS };
    let bottom = top + height + 4.0 * RADIUS;
    let y = AxisScale::of(points().map(|p| p.y), [bottom - 2.0 * RADIUS, top + 2.0 * RADIUS], 5);
    let lowest = y.at(points().map(|p| p.y).fold(f64::INFINITY, f64::min));
    draw_left_axis(&mut svg, &y, [from, right], &data.y);
    let end = below(&mut svg, &x, [top, bottom], &data.x);
    let mut counts: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for p in points() {
        *counts.entry(cell([x.at(p.x) - from, y.at(p.y) - lowest])).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1);
    for ((column, row), count) in &counts {
        let [cx, cy] = centre(*column, *row);
        let strength = format!("--s:{}", length(strength(*count, most)));
        svg.path("heat", &strength, &hexagon([cx + from, cy + lowest]), &format!("{count} of {}", points().count()));
    }
    svg.text(TextAnchor::Start, "soft", [from, end + 10.0], "1");
    for k in 0..=4u64 {
        let at = [from + 18.0 + 20.0 * k as f64, end + 6.0];
        svg.path("heat", &format!("--s:{}", length(20.0 + 20.0 * k as f64)), &hexagon(at), "");
    }
    svg.text(TextAnchor::Start, "soft", [from + 114.0, end + 10.0], &format!("{most} points"));
    let about = format!("Frequency of {} by {}; the numbers are in the table below.", data.y.title, data.x.title);
    svg.end(end + 22.0, title, &about)
}

/// Returns the color strength of a hexagon with `count` points, in percent. A single point is still visible.
fn strength(count: u64, most: u64) -> f64 {
    if most <= 1 { 100.0 } else { 20.0 + 80.0 * (count - 1) as f64 / (most - 1) as f64 }
}

/// Returns the width of a hexagon.
fn wide() -> f64 {
    RADIUS * 3f64.sqrt()
}

fn centre(column: i64, row: i64) -> [f64; 2] {
    let shift = if row.rem_euclid(2) == 1 { 0.5 } else { 0.0 };
    [(column as f64 + shift) * wide(), row as f64 * ROW]
}

/// Returns the hexagon with the nearest center.
fn cell([x, y]: [f64; 2]) -> (i64, i64) {
    let row = (y / ROW).round() as i64;
    let near = (row - 1..=row + 1).flat_map(|row| {
        let column = (x / wide()).round() as i64;
        (column - 1..=column + 1).map(move |column| (column, row))
    });
    let far = |of: &(i64, i64)| {
        let [cx, cy] = centre(of.0, of.1);
        (cx - x).powi(2) + (cy - y).powi(2)
    };
    near.min_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b))).unwrap_or((0, row))
}

fn hexagon([x, y]: [f64; 2]) -> String {
    let corner = |k: i32| {
        let angle = std::f64::consts::PI / 180.0 * f64::from(60 * k - 90);
        format!("{} {}", length(x + RADIUS * angle.cos()), length(y + RADIUS * angle.sin()))
    };
    format!("M{}Z", (0..6).map(corner).collect::<Vec<_>>().join("L"))
}
