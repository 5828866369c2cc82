//! Comparison of twenty battles per plan game with `tests/data/battles/<game>.txt`.
//!
//! A file contains queries for `ludex games analyze`. Each query is followed by the events of the reply, one line for
//! each tick, turn or skill. The queries are written by hand; `LUDEX_REGENERATE=1` rewrites the events.

use std::path::PathBuf;

use ludex_games::load;
use serde_json::Value;

const GAMES: [&str; 3] = ["tower_defense", "battle_cards", "elemental_duel"];
const BATTLES: usize = 20;

fn path(game: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/battles")).join(format!("{game}.txt"))
}

/// Returns true if this event starts a new line in a stored file.
fn begins(event: &Value, before: Option<&Value>) -> bool {
    match &event[0] {
        Value::Number(tick) => before.is_none_or(|before| before[0].as_i64() != tick.as_i64()),
        kind => ["turn", "round", "skill", "tick", "end"].iter().any(|first| kind == first),
    }
}

fn lines(events: &[Value]) -> String {
    let mut out = String::new();
    for (n, event) in events.iter().enumerate() {
        let first = begins(event, n.checked_sub(1).map(|n| &events[n]));
        out += if n == 0 {
            ""
        } else if first {
            "\n"
        } else {
            " "
        };
        out += &event.to_string();
    }
    out
}

#[test]
fn battles_equal_stored_events() {
    for name in GAMES {
        let game = load(name).unwrap();
        let then = std::fs::read_to_string(path(name)).unwrap();
        let mut now = String::new();
        let questions: Vec<&str> = then.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(questions.len(), BATTLES, "{name}");
        let mut winners = std::collections::BTreeMap::<String, usize>::new();
        for line in questions {
            let mut question: Value = serde_json::from_str(line).unwrap();
            question["log"] = true.into();
            let answer = game.analyze(&question).unwrap();
            *winners.entry(answer["winner"].to_string()).or_default() += 1;
            now += &format!("{line}\n{}\n\n", lines(answer["log"].as_array().unwrap()));
        }
        assert_eq!(winners.len(), 2, "expected each side to win some battles, got {winners:?}");
        if std::env::var_os("LUDEX_REGENERATE").is_some() {
            std::fs::write(path(name), &now).unwrap();
        } else if let Some((a, b)) = then.lines().zip(now.lines()).find(|(a, b)| a != b) {
            panic!("{name}:\n- {a}\n+ {b}");
        } else {
            assert_eq!(then.len(), now.len(), "{name}: not the same number of lines");
        }
    }
}
