//! Numbers and names as reports print them.

use ludex_referee::metric::Measurement;

use crate::display;

/// Formats a number with a true minus sign, never as `-0`. Formats a missing number as an en dash.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => display::number(value, digits).replace('-', "\u{2212}"),
        None => "\u{2013}".to_owned(),
    }
}

/// Formats a measured number; a bound has the sign `<` or `>`.
pub(crate) fn measured(measure: &Measurement, digits: usize) -> String {
    let value = number(Some(measure.value), digits);
    measure.bound().map_or_else(|| value.clone(), |bound| format!("{} {value}", bound.sign()))
}

/// Replaces invisible characters in a name (direction marks, line breaks and control characters) with the replacement
/// character.
pub(crate) fn clean(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    name.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Formats an integer with thousands separators.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a duration given in hours as hours, minutes or seconds.
pub(crate) fn waited(hours: f64) -> String {
    let (value, unit) = match hours {
        h if h >= 1.0 => (h, "hours"),
        h if h * 60.0 >= 1.0 => (h * 60.0, "minutes"),
        h => (h * 3600.0, "seconds"),
    };
    format!("{} {unit}", number(Some(value), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_durations_are_formatted_for_display() {
        assert_eq!([0, 999, 1000, 7_137_639].map(count), ["0", "999", "1,000", "7,137,639"]);
        assert_eq!([0.002, 0.04, 1.5].map(waited), ["7.2 seconds", "2.4 minutes", "1.5 hours"]);
    }
}
