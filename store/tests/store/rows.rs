//! Rows and writes of the tests.

use ludex_store::{ActRow, EndRow, MatchRow, Store, StoreLocation, Write};

pub fn row(id: &str) -> MatchRow {
    MatchRow {
        id: id.to_owned(),
        game: "connect_four".to_owned(),
        string: "connect_four(rows=6,columns=7)".to_owned(),
        rated: true,
        run: None,
        seats: vec!["ann".into(), "bob".into()],
        header: format!(r#"{{"episode":"{id}"}}"#),
        secret: r#"{"seed":"42"}"#.to_owned(),
        started_ms: 1_000,
    }
}

pub fn start(id: &str) -> Write {
    Write::MatchStart(row(id))
}

/// Returns the body of act `n` of a match. Bodies differ, so that each act can be checked
/// separately.
pub fn body(id: &str, n: u64) -> String {
    format!(r#"{{"match":"{id}","n":{n},"say":"{}"}}"#, "é".repeat((n % 50) as usize))
}

pub fn act(id: &str, n: u64) -> Write {
    Write::Act { id: id.to_owned(), n, body: body(id, n) }
}

pub fn result(ended_ms: i64) -> EndRow {
    EndRow {
        reason: "finished".to_owned(),
        ended_ms,
        footer: r#"{"returns":[1,-1]}"#.to_owned(),
        record: r#"{"ludex":1}"#.to_owned(),
    }
}

pub fn end(id: &str, ended_ms: i64) -> Write {
    Write::MatchEnd { id: id.to_owned(), acts: Vec::new(), end: result(ended_ms) }
}

/// Asserts that a log starts at row 0, has no gaps, and contains the written bodies.
pub fn check_log(id: &str, acts: &[ActRow]) {
    for (n, act) in acts.iter().enumerate() {
        assert_eq!(act.n, n as u64, "a gap in {id}");
        assert_eq!(act.body, body(id, act.n));
    }
}

pub async fn open(location: &StoreLocation) -> Store {
    Store::open(location).await.unwrap()
}
