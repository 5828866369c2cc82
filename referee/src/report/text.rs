//! Numbers and names for people.

/// A number for people: a true minus sign, never `-0`; an en dash if there is no number.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    match value {
        Some(v) if v.is_finite() => {
            let text = format!("{v:.digits$}");
            match text.strip_prefix('-') {
                Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
                Some(rest) => format!("\u{2212}{rest}"),
                None => text,
            }
        }
        _ => "\u{2013}".to_owned(),
    }
}

/// A name without characters that nobody sees: marks that turn the direction of writing, line breaks and control characters
/// are shown as the sign of a character that is not known.
pub(crate) fn clean(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    name.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// A whole number for people, with a comma before each three digits.
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

/// Hours in a unit that suits them.
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
    fn numbers_are_written_for_people() {
        assert_eq!([0, 999, 1000, 7_137_639].map(count), ["0", "999", "1,000", "7,137,639"]);
        assert_eq!([0.002, 0.04, 1.5].map(waited), ["7.2 seconds", "2.4 minutes", "1.5 hours"]);
    }
}
