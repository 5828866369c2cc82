//! Translation of statements that are written for SQLite.

/// Translates a statement: `?1` becomes `$1`, and the hints of SQLite's planner (`INDEXED BY`, `CROSS JOIN`) are removed.
pub(super) fn translated(sql: &str) -> String {
    let mut text = sql.replace('?', "$").replace(" CROSS JOIN ", " JOIN ");
    while let Some(begin) = text.find(" INDEXED BY ") {
        let name = begin + " INDEXED BY ".len();
        let end = text[name..].find([' ', ')']).map_or(text.len(), |length| name + length);
        text.replace_range(begin..end, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn placeholders_and_hints_are_translated() {
        let sql = "SELECT 1 FROM seats s CROSS JOIN matches m INDEXED BY matches_ended ON m.seq = s.match WHERE a = ?1 AND b < ?12";
        let wanted = "SELECT 1 FROM seats s JOIN matches m ON m.seq = s.match WHERE a = $1 AND b < $12";
        assert_eq!(translated(sql), wanted);
        assert_eq!(translated("SELECT 1 FROM matches INDEXED BY x"), "SELECT 1 FROM matches");
    }
}
