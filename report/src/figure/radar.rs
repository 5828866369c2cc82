//! Radar chart: several numbers of each row around a center.

use ludex_env::svg::{TextAnchor, length};

use super::axes::{Sign, legend, legend_entries, measurement_text};
use super::data::Grid;
use super::svg::{Svg, WIDTH, colour, fit, nothing, width};
use crate::text::number;

/// Greatest radius of a drawing with all rows.
const RADIUS: f64 = 112.0;
/// Radius of the drawing of one row.
const SMALL: f64 = 68.0;
/// Greatest number of rows in one drawing. More rows have a small drawing each.
const TOGETHER: usize = 6;

/// Draws a spoke for each column and a closed line for each row.
pub(super) fn draw(grid: &Grid, title: &str) -> String {
    if grid.columns.len() < 3 {
        return nothing(title, "A radar needs three numbers or more.");
    }
    let mut svg = Svg::new();
    let spans = spans(grid);
    let end = if grid.rows.len() > TOGETHER {
        draw_multiples(&mut svg, grid, &spans)
    } else {
        draw_together(&mut svg, grid, &spans)
    };
    let alike = spans.iter().all(|span| *span == spans[0]);
    let end = if alike {
        let [low, high] = spans[0].map(|v| number(Some(v), grid.columns[0].axis.digits.min(2)));
        let words = format!("From the center out: {low} to {high}");
        svg.text(TextAnchor::Middle, "soft small", [WIDTH / 2.0, end + 10.0], &words);
        end + 18.0
    } else {
        end
    };
    svg.end(end, title, "Each spoke is a number, from the center out; the numbers are in the table below.")
}

/// Draws all rows in one radar. Returns the bottom of the drawing.
fn draw_together(svg: &mut Svg, grid: &Grid, spans: &[[f64; 2]]) -> f64 {
    let spokes = grid.columns.len();
    let widest = |c: usize| {
        let aside = Radar { center: [0.0; 2], radius: 1.0, spokes }.at(c, 1.0)[0].abs();
        if aside > 0.1 { (WIDTH / 2.0 - width(&grid.columns[c].full()) - 4.0) / (1.1 * aside) } else { RADIUS }
    };
    let radius = (0..spokes).map(widest).fold(RADIUS, f64::min).max(0.6 * RADIUS);
    let radar = Radar { center: [WIDTH / 2.0, radius + 38.0], radius, spokes };
    radar.draw_rings(svg);
    let alike = spans.iter().all(|span| *span == spans[0]);
    for (c, column) in grid.columns.iter().enumerate() {
        let [x, y] = radar.at(c, 1.1);
        let (hold, room) = match x - radar.center[0] {
            d if d > 8.0 => (TextAnchor::Start, WIDTH - x - 2.0),
            d if d < -8.0 => (TextAnchor::End, x - 2.0),
            _ => (TextAnchor::Middle, 180.0),
        };
        let drop = if y > radar.center[1] + 8.0 { 10.0 } else { 0.0 };
        svg.text(hold, "", [x, y + drop - 4.0], &fit(&column.full(), room));
        if !alike {
            let [low, high] = spans[c].map(|v| number(Some(v), column.axis.digits.min(2)));
            svg.text(hold, "soft small", [x, y + drop + 8.0], &fit(&format!("{low} \u{2026} {high}"), room));
        }
    }
    for r in 0..grid.rows.len() {
        radar.draw_row(svg, grid, spans, r);
    }
    legend(svg, legend_entries(&grid.rows), Sign::Mark, radar.center[1] + radius + 36.0)
}

/// Draws a small radar for each row, with numbered spokes. Returns the bottom of the drawing.
fn draw_multiples(svg: &mut Svg, grid: &Grid, spans: &[[f64; 2]]) -> f64 {
    const COLUMNS: usize = 2;
    let spokes = grid.columns.len();
    let names: Vec<String> = (1..).zip(&grid.columns).map(|(k, column)| format!("{k} {}", column.full())).collect();
    let mut top = 4.0;
    let mut line = String::new();
    for name in &names {
        if !line.is_empty() && width(&line) + width(name) + 16.0 > WIDTH {
            svg.text(TextAnchor::Start, "", [4.0, top + 12.0], &line);
            (top, line) = (top + 16.0, String::new());
        }
        line += if line.is_empty() { "" } else { ", " };
        line += name;
    }
    svg.text(TextAnchor::Start, "", [4.0, top + 12.0], &fit(&line, WIDTH - 8.0));
    top += 24.0;
    let wide = WIDTH / COLUMNS as f64;
    let high = 2.0 * SMALL + 52.0;
    for (r, name) in grid.rows.iter().enumerate() {
        let [x, y] = [(r % COLUMNS) as f64 * wide, top + (r / COLUMNS) as f64 * high];
        let radar = Radar { center: [x + wide / 2.0, y + SMALL + 34.0], radius: SMALL, spokes };
        svg.text(TextAnchor::Middle, "", [x + wide / 2.0, y + 12.0], &fit(name, wide - 8.0));
        radar.draw_rings(svg);
        for c in 0..spokes {
            let [x, y] = radar.at(c, 1.13);
            svg.text(TextAnchor::Middle, "soft small", [x, y + 4.0], &(c + 1).to_string());
        }
        radar.draw_row(svg, grid, spans, r);
    }
    top + grid.rows.len().div_ceil(COLUMNS) as f64 * high
}

/// Place of a radar.
struct Radar {
    center: [f64; 2],
    radius: f64,
    spokes: usize,
}

impl Radar {
    /// Returns the point of a spoke at a share of the radius.
    fn at(&self, spoke: usize, share: f64) -> [f64; 2] {
        let angle = std::f64::consts::TAU * spoke as f64 / self.spokes as f64 - std::f64::consts::FRAC_PI_2;
        let far = self.radius * share;
        [self.center[0] + far * angle.cos(), self.center[1] + far * angle.sin()]
    }

    fn around(&self, shares: &[(usize, f64)]) -> String {
        let points =
            shares.iter().map(|(c, share)| self.at(*c, *share)).map(|[x, y]| format!("{} {}", length(x), length(y)));
        format!("M{}Z", points.collect::<Vec<_>>().join("L"))
    }

    fn draw_rings(&self, svg: &mut Svg) {
        for ring in [0.25, 0.5, 0.75, 1.0] {
            let shares: Vec<_> = (0..self.spokes).map(|c| (c, ring)).collect();
            svg.path("ring", "", &self.around(&shares), "");
        }
        for c in 0..self.spokes {
            svg.line("grid", self.center, self.at(c, 1.0));
        }
    }

    fn draw_row(&self, svg: &mut Svg, grid: &Grid, spans: &[[f64; 2]], r: usize) {
        let share = |c: usize| {
            let [low, high] = spans[c];
            Some((c, ((grid.at(r, c)?.value - low) / (high - low)).clamp(0.0, 1.0)))
        };
        let name = &grid.rows[r];
        let shares: Vec<(usize, f64)> = (0..self.spokes).filter_map(share).collect();
        if shares.len() > 1 {
            svg.path(&format!("line {}", colour(r)), "", &self.around(&shares), name);
        }
        for (c, share) in shares {
            let Some(m) = grid.at(r, c) else { continue };
            let column = &grid.columns[c];
            let tip = format!("{name}, {}: {}", column.full(), measurement_text(&m, &column.axis));
            svg.mark(r, self.at(c, share), &tip);
        }
    }
}

/// Returns the range of each spoke. Spokes of one metric have a common range. The range of shares is 0 to 1. Any other
/// range starts at 0, or at the lowest value if it is negative, and ends at the highest value.
fn spans(grid: &Grid) -> Vec<[f64; 2]> {
    let of = |c: usize| {
        let own = &grid.columns[c].axis;
        let alike = (0..grid.columns.len()).filter(|other| grid.columns[*other].axis == *own);
        let values = alike.flat_map(|c| (0..grid.rows.len()).filter_map(move |r| grid.at(r, c))).map(|m| m.value);
        let (low, high) = values.fold((0.0f64, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let share = own.unit.contains("share") || own.unit.is_empty();
        if !high.is_finite() || (share && low >= 0.0 && high <= 1.0) || high <= low {
            [low, low + 1.0]
        } else {
            [low, high]
        }
    };
    (0..grid.columns.len()).map(of).collect()
}
