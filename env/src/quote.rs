//! What players say, as others read it.

/// Words of a player in one line and in quotes, so that they cannot look like a line of the position.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_stay_within_their_quotes() {
        assert_eq!(quoted("Fine.\r\n p1 agrees.\u{2028}\"You\" lose"), r#""Fine. p1 agrees. \"You\" lose""#);
    }
}
