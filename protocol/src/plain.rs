//! Untrusted text for terminals, logs and pages.

/// Returns `text` with a replacement character for each control character except tabs and newlines, and for each
/// character that changes the text direction. A terminal would obey the former, and a reader would misread the latter.
pub fn plain_text(text: &str) -> String {
    let harmless = |c: char| matches!(c, '\t' | '\n') || !is_unprintable(c);
    text.chars().map(|c| if harmless(c) { c } else { '\u{fffd}' }).collect()
}

/// Returns true for control characters and for characters that change the text direction.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_control_characters() {
        let evil = "a\u{1b}[2J\u{7}\0\r\u{9b}b\u{202e}c\u{2067}\u{200f}\td\n\u{e9}\u{5d0}";
        let shown = "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}\td\n\u{e9}\u{5d0}";
        assert_eq!(plain_text(evil), shown);
    }
}
