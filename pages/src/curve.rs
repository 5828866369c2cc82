//! Line charts, in the style of the reports.
#![allow(missing_docs, reason = "the other names are self-explanatory")]

use ludex_referee::metric::Measurement;
use ludex_referee::suite::figure::FigureKind;
use ludex_report::display::number;
use ludex_report::figure;
use ludex_report::figure::data::{Axis, ChartLine, Data, LineChart};
use serde::Serialize;

/// Maximum number of points per line.
const DRAWN: usize = 300;

/// Named lines, each a list of (x, y) points.
pub type Series = Vec<(String, Vec<(f64, f64)>)>;

/// Chart with its data.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Title of the chart.
    pub title: String,
    /// Caption; may be empty.
    pub note: String,
    pub svg: String,
    /// Title of the x axis.
    pub x: String,
    /// Names of the lines.
    pub names: Vec<String>,
    /// Data of the chart.
    pub rows: Vec<CurveRow>,
}

/// Values of all lines at one x coordinate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveRow {
    /// Coordinate on the x axis.
    pub at: f64,
    /// Text of each line's value, if the line has a point here.
    pub values: Vec<Option<String>>,
}

/// Draws a chart. Returns `None` if no line has two points.
pub fn curve(title: &str, note: &str, [x, y]: [&str; 2], digits: usize, series: Series) -> Option<Curve> {
    if series.iter().all(|(_, points)| points.len() < 2) {
        return None;
    }
    let axis = |title: &str, digits| Axis { title: title.to_owned(), unit: String::new(), digits };
    let series: Series = series.into_iter().map(|(name, points)| (name, thinned(points))).collect();
    let line = |at: usize| ChartLine {
        series: at,
        name: series[at].0.clone(),
        points: series[at].1.iter().map(|&(at, value)| (at, Measurement::plain(value, 1))).collect(),
    };
    let lines = LineChart { x: axis(x, 0), y: axis(y, digits), lines: (0..series.len()).map(line).collect() };
    let svg = figure::draw(FigureKind::Lines, &Data::Lines(lines), title);
    let mut places: Vec<f64> = series.iter().flat_map(|(_, points)| points.iter().map(|(at, _)| *at)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |points: &[(f64, f64)], place: f64| {
        points.iter().find(|(at, _)| *at == place).map(|(_, value)| number(*value, digits))
    };
    let row =
        |&place: &f64| CurveRow { at: place, values: series.iter().map(|(_, points)| at(points, place)).collect() };
    Some(Curve {
        title: title.to_owned(),
        note: note.to_owned(),
        svg,
        x: x.to_owned(),
        rows: places.iter().map(row).collect(),
        names: series.iter().map(|(name, _)| name.clone()).collect(),
    })
}

/// Returns at most [`DRAWN`] evenly spaced points, including the last point.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let (count, last) = (points.len(), points.last().copied());
    let every = count.div_ceil(DRAWN).max(1);
    let mut out: Vec<(f64, f64)> = points.into_iter().step_by(every).collect();
    out.extend(last.filter(|last| out.last() != Some(last)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_contains_drawing_and_rows() {
        let series = vec![("<a>".to_owned(), vec![(1.0, 0.25), (3.0, -1.0)]), ("b".to_owned(), vec![(2.0, 0.5)])];
        let made = curve("Values", "", ["step", "value"], 2, series).unwrap();
        let svg = &made.svg;
        assert!(svg.starts_with("<svg") && svg.contains("&lt;a&gt;") && !svg.contains("<a>"), "{svg}");
        assert_eq!(made.rows[1], CurveRow { at: 2.0, values: vec![None, Some("0.50".to_owned())] });
        assert_eq!(made.rows.len(), 3);
        assert!(curve("Values", "", ["step", "value"], 2, vec![("a".to_owned(), vec![(1.0, 1.0)])]).is_none());
    }

    #[test]
    fn long_curve_is_thinned_and_keeps_its_last_point() {
        let points = |n: usize| (0..n).map(|k| (k as f64, 0.0)).collect::<Vec<_>>();
        let thin = thinned(points(10_000));
        assert!(thin.len() <= DRAWN + 1 && thin.last() == Some(&(9_999.0, 0.0)));
        assert_eq!(thinned(points(5)), points(5));
    }
}
