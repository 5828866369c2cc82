//! Scatter plots of named points.

use std::collections::BTreeSet;

use ludex_env::svg::{TextAnchor, length};
use ludex_referee::metric::value::Point;

use super::axes::{AxisScale, Sign, below, draw_left_axis, legend, room};
use super::data::Points;
use super::svg::{Svg, WIDTH, fit, width};
use crate::text::{clean, number};

/// Draws a mark for each point. A name is drawn beside its mark if there is room; the table lists all names.
pub(super) fn draw(data: &Points, title: &str) -> String {
    let mut svg = Svg::new();
    let points = || data.groups.iter().flat_map(|group| &group.points);
    let from = room(points().map(|p| p.y), 5);
    let [top, bottom] = [24.0, 264.0];
    let right = WIDTH - 18.0;
    let (ends, across) = (points().map(|p| p.x), [from, right]);
    let x = if data.frontier { AxisScale::log(ends, across) } else { AxisScale::of(ends, across, 5) };
    let y = AxisScale::of(points().map(|p| p.y), [bottom, top], 5);
    draw_left_axis(&mut svg, &y, [from, right], &data.y);
    let mut end = below(&mut svg, &x, [top, bottom], &data.x);
    if let Some(line) = data.fit.and_then(|_| straight(points().map(|p| [p.x, p.y]))) {
        let ends = line.map(|[at, value]| format!("{} {}", length(x.at(at)), length(y.at(value))));
        svg.path("fit", "", &format!("M{}", ends.join("L")), "");
    }
    // Occupied areas: marks and lines first, so that no name covers them.
    let mut taken: Vec<[f64; 4]> =
        points().map(|p| [x.at(p.x) - 5.0, y.at(p.y) - 5.0, x.at(p.x) + 5.0, y.at(p.y) + 5.0]).collect();
    if data.frontier {
        let mut steps: Vec<[f64; 2]> = Vec::new();
        for point in data.frontier().map(|[cost, score]| [x.at(cost), y.at(score)]) {
            steps.extend(steps.last().map(|last| [point[0], last[1]]));
            steps.push(point);
        }
        let corners: Vec<String> = steps.iter().map(|p| format!("{} {}", length(p[0]), length(p[1]))).collect();
        svg.path("fit", "", &format!("M{}", corners.join("L")), "");
        taken.extend(steps.windows(2).map(|ends| {
            let [a, b] = [ends[0], ends[1]];
            [a[0].min(b[0]), a[1].min(b[1]), a[0].max(b[0]), a[1].max(b[1])]
        }));
    }
    // Labels that do not identify points are omitted. If all points belong to one agent, the heading names the agent.
    let named = data.labels_differ();
    for group in &data.groups {
        // Points of a group with equal coordinates share one mark.
        let mut seen = BTreeSet::new();
        for p in &group.points {
            let said = |v: f64, digits| number(Some(v), digits);
            let name = [group.name.as_str(), if named { p.label.as_str() } else { "" }];
            let name = name.into_iter().filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
            let name = if name.is_empty() { name } else { format!("{name}: ") };
            let tip = format!("{name}{}, {}", said(p.x, data.x.digits), said(p.y, data.y.digits));
            if seen.insert(tip.clone()) {
                svg.mark(group.series, [x.at(p.x), y.at(p.y)], &tip);
            }
        }
    }
    for p in points().filter(|p| named && !p.label.is_empty()) {
        if let Some((at, text)) = place(p, [x.at(p.x), y.at(p.y)], [from, right, top, bottom], &mut taken) {
            svg.text(TextAnchor::Start, "small", at, &text);
        }
    }
    if let Some(fit) = data.fit {
        let p = fit.p.map_or(String::new(), |p| {
            if p < 0.001 { ", p < 0.001".to_owned() } else { format!(", p = {}", number(Some(p), 3)) }
        });
        let text = format!("r = {}{p}, n = {}", number(Some(fit.r), 2), fit.n);
        svg.text(TextAnchor::End, "", [right, end + 8.0], &text);
        end += 18.0;
    }
    let end = legend(&mut svg, data.groups.iter().map(|group| (group.series, &*group.name)), Sign::Mark, end + 2.0);
    svg.end(end, title, &format!("{} against {}; the numbers are in the table below.", data.y.title, data.x.title))
}

/// Returns a free position for the name of a point, beside the point's mark.
fn place(p: &Point, [x, y]: [f64; 2], frame: [f64; 4], taken: &mut Vec<[f64; 4]>) -> Option<([f64; 2], String)> {
    let [left, right, top, bottom] = frame;
    let text = fit(&clean(&p.label), 130.0);
    let wide = width(&text) * 0.87;
    let [before, middle] = [-6.0 - wide, -wide / 2.0];
    let tries = [
        [7.0, 3.5],
        [before - 1.0, 3.5],
        [middle, -8.0],
        [middle, 15.0],
        [6.0, -8.0],
        [6.0, 15.0],
        [before, -8.0],
        [before, 15.0],
    ];
    for [dx, dy] in tries {
        let (at, low) = (x + dx, y + dy);
        let own = [at, low - 9.0, at + wide, low + 2.0];
        let inside = own[0] >= left && own[2] <= right + 8.0 && own[1] >= top - 8.0 && own[3] <= bottom;
        let free = |t: &[f64; 4]| own[2] <= t[0] || t[2] <= own[0] || own[3] <= t[1] || t[3] <= own[1];
        // A name may touch marks that touch its own mark.
        if inside && taken.iter().all(free) {
            taken.push(own);
            return Some(([at, low], text));
        }
    }
    None
}

/// Returns the ends of the least-squares line through points; `None` if all points are on a vertical line.
fn straight(points: impl Iterator<Item = [f64; 2]>) -> Option<[[f64; 2]; 2]> {
    let points: Vec<[f64; 2]> = points.collect();
    let count = points.len() as f64;
    let mean = |k: usize| points.iter().map(|p| p[k]).sum::<f64>() / count;
    let (mx, my) = (mean(0), mean(1));
    let spread: f64 = points.iter().map(|p| (p[0] - mx).powi(2)).sum();
    let slope = points.iter().map(|p| (p[0] - mx) * (p[1] - my)).sum::<f64>() / spread;
    let (first, last) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[0]), h.max(p[0])));
    slope.is_finite().then(|| [first, last].map(|x| [x, my + slope * (x - mx)]))
}
