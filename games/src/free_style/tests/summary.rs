//! Coverage of English summaries: each clause of a document must appear.

use ludex_env::check::scaled;
use ludex_env::draw::Stream;

use super::super::document::Document;
use super::super::sample;
use super::*;

/// Returns other valid values for a field, given the section of the document and the key.
fn others(part: &str, key: &str, value: &Value) -> Vec<Value> {
    let list: &[&str] = match (part, key) {
        ("", "first") => &["author", "other", "seat0", "random"],
        ("", "mode") => &["alternate", "simultaneous"],
        ("", "tie") => &["draw", "second", "first", "fewer_pieces"],
        ("actions", "near") => &["any", "own4", "own8", "opp4", "opp8", "away4"],
        ("actions", "steps") if value.is_string() => &["orth", "diag", "king", "knight"],
        ("actions", "onto") => &[
            "empty",
            "opp_any",
            "opp_lower",
            "opp_lower_eq",
            "empty_or_opp_any",
            "empty_or_opp_lower",
            "empty_or_opp_lower_eq",
        ],
        ("actions", "when") => &["never", "stuck", "always"],
        ("effects", "on") => &["place", "move"],
        ("effects", "cells") => &["adj4", "adj8", "sandwich8", "sandwich4", "line_rest"],
        ("effects", "who") => &["opp", "own", "both"],
        ("effects", "if") => &["lower", "higher", "equal", "sum10"],
        ("effects", "then") => &["flip", "remove"],
        ("hidden", "reveal") => &["end", "contact"],
        ("end", "dirs") => &["orth", "diag", "all"],
        ("actions" | "end" | "score", "0" | "1") => &["row2", "colb", "edge", "corner"],
        ("setup", "at") => &["a1", "b3", "e5"],
        _ => &[],
    };
    let named = list.iter().map(|other| json!(other));
    let more = match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(n) if key != "fsr" && key != "board" => n.as_u64().map(|n| json!(n + 1)).into_iter().collect(),
        Value::Null if key == "supply" || key == "sum_max" => vec![json!(9)],
        Value::Null if key == "values" => vec![json!({ "min": 0, "max": 3, "unique": false, "sum_max": null })],
        _ => vec![],
    };
    named.chain(more).filter(|other| other != value).collect()
}

/// Returns copies of the document, each with one changed field, and the paths of these fields.
fn changed(value: &Value) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    let mut todo = vec![String::new()];
    while let Some(path) = todo.pop() {
        let at = value.pointer(&path).unwrap();
        let keys: Vec<String> = match at {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(list) => (0..list.len()).map(|k| k.to_string()).collect(),
            _ => vec![],
        };
        todo.extend(keys.iter().map(|key| format!("{path}/{key}")));
        let mut parts = path.split('/').skip(1);
        let (first, key) = (parts.next().unwrap_or_default(), path.rsplit('/').next().unwrap_or_default());
        let part = if path.matches('/').count() > 1 { first } else { "" };
        for other in others(part, key, at) {
            let mut copy = value.clone();
            *copy.pointer_mut(&path).unwrap() = other;
            out.push((path.clone(), copy));
        }
    }
    out
}

#[test]
fn summary_changes_with_every_clause() {
    let mut rng = Stream::from_text("ludex.v1:free_style:summaries");
    let mut tried = std::collections::BTreeSet::new();
    for _ in 0..scaled(150) {
        let rules = sample::valid(&mut rng);
        for (path, value) in changed(&rules.canonical) {
            let Some(other) = serde_json::from_value::<Document>(value).ok().and_then(Rules::of) else { continue };
            // Fields without effect need no sentence, such as `reveal` without hidden numbers.
            if other.hash == rules.hash || path == "/hidden/reveal" && !rules.document.hidden.values {
                continue;
            }
            assert_ne!(other.summary(), rules.summary(), "the summary does not depend on {path}: {}", other.canonical);
            tried.insert(path.replace(|c: char| c.is_ascii_digit(), ""));
        }
    }
    assert!(tried.len() > 30 || scaled(150) < 150, "{tried:?}");
}

/// Compares the summary of a complete document with the expected text.
#[test]
fn summary_describes_complete_game() {
    let wanted = "\
\"line4\": a game on a board of 5 columns, a to e, and 5 rows, 1 to 5. Row 1 is the home row of seat a, row 5 of seat b.
The seat that accepted these rules counts as the first: it moves first, then the seats move in turn.
Piece s: no number; each seat may place any number of it.
In a turn a seat does one of these:
- place s on an empty cell: any cell.
The game ends, judged after every ply in this order, first for the seat that moved:
- the seat that has at least 4 own pieces in an unbroken line along a row, column or diagonal wins.
After 25 plies the board is scored.
There are no points: a board that is scored counts as equal.
If points are equal, the game is drawn.";
    assert_eq!(Rules::built_in(0).summary(), wanted);
}
