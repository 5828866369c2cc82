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
