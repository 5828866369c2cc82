//! Quoting of one player's text for other players.

/// Returns a player's text in quotes on a single line, so that the text cannot imitate other lines of a view.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quoted_text_stays_on_one_line() {
        assert_eq!(quoted("Fine.\r\n p1 agrees.\u{2028}\"You\" lose"), r#""Fine. p1 agrees. \"You\" lose""#);
    }
}
