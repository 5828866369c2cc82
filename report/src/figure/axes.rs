//! Scales, ticks, frames and legends of the drawings.

use ludex_env::svg::TextAnchor;
use ludex_referee::metric::Measurement;

use super::data::Axis;
use super::svg::{Svg, WIDTH, fit, width};
use crate::text::{measured, number};

/// Scale that maps numbers to positions in the drawing, with ticks at round numbers.
pub(crate) struct AxisScale {
    from: f64,
    to: f64,
    paper: [f64; 2],
    step: f64,
    /// True if the ends are logarithms with base 10.
    log: bool,
}

impl AxisScale {
    /// Creates a logarithmic scale that covers the positive values, from a power of ten to a power of ten.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, paper: [f64; 2]) -> AxisScale {
        let powers = values.into_iter().filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10);
        let (low, high) = powers.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low.is_finite() { (low, high) } else { (0.0, 1.0) };
        let from = (low + 1e-9).floor();
        AxisScale { from, to: (high - 1e-9).ceil().max(from + 1.0), paper, step: 1.0, log: true }
    }

    /// Creates a scale that covers all values, with about `ticks` ticks. Without values, the scale ranges from 0 to 1.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>, paper: [f64; 2], ticks: usize) -> AxisScale {
        let ends = values.into_iter().filter(|v| v.is_finite());
        let (mut low, mut high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= low.abs().max(high.abs()) * 1e-9 {
            // If all values are 0, the scale starts at 0, because most metrics have no negative values.
            let half = low.abs() / 2.0;
            (low, high) = if low == 0.0 { (0.0, 1.0) } else { (low - half, high + half) };
        }
        let raw = (high - low) / ticks.max(1) as f64;
        let power = 10f64.powi(raw.log10().floor() as i32);
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= raw * 0.999);
        let step = step.unwrap_or(power * 10.0);
        // The tolerance avoids an extra tick where an end is already a tick.
        let (from, to) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        AxisScale { from, to, paper, step, log: false }
    }

    /// Returns the position of a number.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = (value.clamp(self.from, self.to) - self.from) / (self.to - self.from);
        self.paper[0] + share * (self.paper[1] - self.paper[0])
    }

    /// Returns the value and the label of each tick.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let count = ((self.to - self.from) / self.step).round() as i64;
        if self.log {
            let tick = |power: i64| {
                let digits = usize::try_from(-power).unwrap_or(0);
                (10f64.powi(power as i32), number(Some(10f64.powi(power as i32)), digits))
            };
            return (0..=count).map(|k| tick(self.from as i64 + k)).collect();
        }
        // Use enough decimals for distinct ticks.
        let digits = (0..6).find(|d| {
            let scaled = self.step * 10f64.powi(*d);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        });
        let text = |value: f64| number(Some(value), digits.unwrap_or(6) as usize);
        (0..=count).map(|k| self.from + k as f64 * self.step).map(|value| (value, text(value))).collect()
    }

    /// Returns the distance of the ends of the scale.
    pub(crate) fn span(&self) -> f64 {
        self.to - self.from
    }

    /// Returns true if a number lies on the scale.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }
}

/// Returns the value of a measurement and the ends of its interval, so that a scale can cover all three.
pub(crate) fn ends(measure: &Measurement) -> impl Iterator<Item = f64> {
    [Some(measure.value), measure.low, measure.high].into_iter().flatten()
}

/// Returns the title of an axis, with the unit in parentheses.
pub(crate) fn words(axis: &Axis) -> String {
    if axis.unit.is_empty() { axis.title.clone() } else { format!("{} ({})", axis.title, axis.unit) }
}

/// Formats a number with its interval.
pub(crate) fn measurement_text(measure: &Measurement, axis: &Axis) -> String {
    let value = measured(measure, axis.digits);
    match (measure.low, measure.high) {
        (Some(low), Some(high)) => {
            format!("{value} ({} to {})", number(Some(low), axis.digits), number(Some(high), axis.digits))
        }
        _ => value,
    }
}

/// Draws vertical grid lines with tick labels below, then the axis title. Returns the bottom of the drawing.
pub(crate) fn below(svg: &mut Svg, scale: &AxisScale, [top, bottom]: [f64; 2], axis: &Axis) -> f64 {
    let ticks = scale.ticks();
    // If the labels of all ticks would overlap, only every second tick, or every third and so on, has a label.
    let widest = ticks.iter().map(|(_, text)| width(text)).fold(0.0, f64::max);
    let apart = (scale.paper[1] - scale.paper[0]) / ticks.len().saturating_sub(1).max(1) as f64;
    let every = ((widest + 5.0) / apart).ceil().max(1.0) as usize;
    for (k, (value, text)) in ticks.iter().enumerate() {
        let x = scale.at(*value);
        svg.line("grid", [x, top], [x, bottom]);
        if k.is_multiple_of(every) {
            let half = width(text) / 2.0 + 1.0;
            svg.text(TextAnchor::Middle, "soft", [x.clamp(half, WIDTH - half), bottom + 14.0], text);
        }
    }
    let words = words(axis);
    if words.is_empty() {
        return bottom + 20.0;
    }
    let middle = scale.paper[0].midpoint(scale.paper[1]);
    let words = fit(&words, WIDTH - 8.0);
    let half = width(&words) / 2.0 + 2.0;
    svg.text(TextAnchor::Middle, "soft", [middle.clamp(half, WIDTH - half), bottom + 30.0], &words);
    bottom + 38.0
}

/// Draws horizontal grid lines with tick labels on the left, and the axis title above.
pub(crate) fn draw_left_axis(svg: &mut Svg, scale: &AxisScale, [from, to]: [f64; 2], axis: &Axis) {
    for (value, text) in scale.ticks() {
        let y = scale.at(value);
        svg.line("grid", [from, y], [to, y]);
        svg.text(TextAnchor::End, "soft", [from - 6.0, y + 4.0], &text);
    }
    svg.text(TextAnchor::Start, "soft", [2.0, 12.0], &fit(&words(axis), WIDTH - 4.0));
}

/// Returns the width of the tick labels of a vertical scale.
pub(crate) fn room(values: impl IntoIterator<Item = f64>, ticks: usize) -> f64 {
    let scale = AxisScale::of(values, [0.0, 1.0], ticks);
    let widest = scale.ticks().iter().map(|(_, text)| width(text)).fold(0.0, f64::max);
    (widest + 12.0).clamp(24.0, 90.0)
}

/// Kind of symbol that represents a series in a legend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Patch,
    /// Mark of the series.
    Mark,
}

/// Draws the legend of `series` (index and name), from `top` downward and in wrapped lines. Unnamed series are omitted.
/// Returns the bottom of the legend.
pub(crate) fn legend<'a>(
    svg: &mut Svg,
    series: impl IntoIterator<Item = (usize, &'a str)>,
    sign: Sign,
    top: f64,
) -> f64 {
    let (mut x, mut y) = (4.0, top + 8.0);
    let mut any = false;
    for (k, name) in series.into_iter().filter(|(_, name)| !name.is_empty()) {
        any = true;
        let name = fit(name, WIDTH - 26.0);
        let wide = width(&name) + 30.0;
        if x > 4.0 && x + wide > WIDTH {
            (x, y) = (4.0, y + 17.0);
        }
        match sign {
            Sign::Patch => svg.rect(&format!("bar {}", super::svg::colour(k)), [x, y - 5.0], [10.0, 10.0], ""),
            Sign::Mark => svg.mark(k, [x + 5.0, y], ""),
        }
        svg.text(TextAnchor::Start, "", [x + 15.0, y + 4.0], &name);
        x += wide;
    }
    if any { y + 14.0 } else { top }
}

/// Returns the index and name of each named series, for a legend.
pub(crate) fn legend_entries(names: &[String]) -> impl Iterator<Item = (usize, &str)> {
    names.iter().map(String::as_str).enumerate()
}

/// Row labels on the left, or above the rows if they are long.
pub(crate) struct RowLabels {
    /// Left edge of the drawing area.
    pub(crate) left: f64,
    /// True if the labels are above the rows.
    above: bool,
}

/// Maximum width of a label on the left.
const WIDEST: f64 = 118.0;

impl RowLabels {
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> RowLabels {
        let widest = names.into_iter().map(width).fold(0.0, f64::max);
        if widest <= WIDEST {
            RowLabels { left: (widest + 10.0).max(20.0), above: false }
        } else {
            RowLabels { left: 8.0, above: true }
        }
    }

    /// Draws the label of a row of this height at `y`, and returns the top of the row's drawing area.
    pub(crate) fn name(&self, svg: &mut Svg, name: &str, y: f64, height: f64) -> f64 {
        if self.above {
            svg.text(TextAnchor::Start, "", [self.left, y + 12.0], &fit(name, WIDTH - self.left - 4.0));
            return y + 16.0;
        }
        svg.text(TextAnchor::End, "", [self.left - 7.0, y + height / 2.0 + 4.0], name);
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_starts_at_zero_if_all_values_are_zero() {
        let scale = AxisScale::of([0.0, 0.0], [0.0, 100.0], 5);
        let ticks = scale.ticks();
        assert_eq!((ticks[0].0, ticks[ticks.len() - 1].0), (0.0, 1.0));
    }

    /// Returns the left and right end of each tick label below a scale.
    fn texts(values: [f64; 2], from: f64) -> Vec<[f64; 2]> {
        let mut svg = Svg::new();
        let scale = AxisScale::of(values, [from, WIDTH - 18.0], 5);
        below(&mut svg, &scale, [0.0, 10.0], &Axis::default());
        let drawn = svg.end(30.0, "t", "d");
        let places = drawn.split("<text ").skip(1).map(|part| {
            let x: f64 = part.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            let half = width(part.split('>').nth(1).unwrap().split('<').next().unwrap()) / 2.0;
            [x - half, x + half]
        });
        places.collect()
    }

    #[test]
    fn tick_labels_are_complete_and_do_not_overlap() {
        for (values, from) in [([-1.0, 1.0], 8.0), ([1504.0, 1505.5], 40.0), ([-0.123, 0.456], 8.0)] {
            let texts = texts(values, from);
            assert!(texts.len() > 1, "{values:?}");
            assert!(texts.iter().all(|[low, high]| *low >= 0.0 && *high <= WIDTH), "{values:?}: {texts:?}");
            assert!(texts.windows(2).all(|two| two[0][1] <= two[1][0]), "{values:?}: {texts:?}");
        }
    }
}
