//! Radar chart: several numbers of each row around a center.

use ludex_env::svg::{TextAnchor, length};

use super::axes::{Sign, legend, legend_entries, measurement_text};
use super::data::Grid;
use super::svg::{Svg, WIDTH, colour, fit, nothing};
use crate::text::number;

const RADIUS: f64 = 112.0;
const CENTRE: [f64; 2] = [WIDTH / 2.0, 150.0];

/// Draws a spoke for each column and a closed line for each row.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    let spokes = grid.columns.len();
    if spokes < 3 {
        return nothing(title, "A radar needs three numbers or more.");
    }
    let mut svg = Svg::new();
    let spans: Vec<[f64; 2]> = (0..spokes).map(|c| span(grid, c)).collect();
    let at = |c: usize, share: f64| {
        let angle = std::f64::consts::TAU * c as f64 / spokes as f64 - std::f64::consts::FRAC_PI_2;
        [CENTRE[0] + RADIUS * share * angle.cos(), CENTRE[1] + RADIUS * share * angle.sin()]
    };
    let around = |shares: &[(usize, f64)]| {
        let points =
            shares.iter().map(|(c, share)| at(*c, *share)).map(|[x, y]| format!("{} {}", length(x), length(y)));
        format!("M{}Z", points.collect::<Vec<_>>().join("L"))
    };
    for ring in [0.25, 0.5, 0.75, 1.0] {
        svg.path("ring", "", &around(&(0..spokes).map(|c| (c, ring)).collect::<Vec<_>>()), "");
    }
    for (c, column) in grid.columns.iter().enumerate() {
        svg.line("grid", CENTRE, at(c, 1.0));
        let [x, y] = at(c, 1.1);
        let (hold, room) = match x - CENTRE[0] {
            d if d > 8.0 => (TextAnchor::Start, WIDTH - x - 2.0),
            d if d < -8.0 => (TextAnchor::End, x - 2.0),
            _ => (TextAnchor::Middle, 180.0),
        };
        let drop = if y > CENTRE[1] + 8.0 { 10.0 } else { 0.0 };
        svg.text(hold, "", [x, y + drop - 4.0], &fit(&column.full(), room));
        let [low, high] = spans[c].map(|v| number(Some(v), column.axis.digits.min(2)));
        svg.text(hold, "soft small", [x, y + drop + 8.0], &fit(&format!("{low} \u{2026} {high}"), room));
    }
    for (r, name) in grid.rows.iter().enumerate() {
        let share = |c: usize| {
            let [low, high] = spans[c];
            Some((c, ((grid.at(r, c)?.value - low) / (high - low)).clamp(0.0, 1.0)))
        };
        let shares: Vec<(usize, f64)> = (0..spokes).filter_map(share).collect();
        if shares.len() > 1 {
            svg.path(&format!("line {}", colour(r)), "", &around(&shares), name);
        }
        for (c, share) in shares {
            let Some(m) = grid.at(r, c) else { continue };
            let column = &grid.columns[c];
            svg.mark(r, at(c, share), &format!("{name}, {}: {}", column.full(), measurement_text(&m, &column.axis)));
        }
    }
    let end = legend(&mut svg, legend_entries(&grid.rows), Sign::Mark, CENTRE[1] + RADIUS + 36.0);
    svg.end(end, title, "Each spoke has a scale of its own, from the centre out; the numbers are in the table below.")
}

/// Returns the range of a spoke. The range of shares is 0 to 1. Any other range starts at 0, or at the lowest value if
/// it is negative, and ends at the highest value.
fn span(grid: &Grid, column: usize) -> [f64; 2] {
    let values = (0..grid.rows.len()).filter_map(|r| grid.at(r, column)).map(|m| m.value);
    let (low, high) = values.fold((0.0f64, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let share = grid.columns[column].axis.unit.contains("share") || grid.columns[column].axis.unit.is_empty();
    if !high.is_finite() || (share && low >= 0.0 && high <= 1.0) || high <= low {
        [low, low + 1.0]
    } else {
        [low, high]
    }
}
