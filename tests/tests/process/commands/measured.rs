//! `ludex rate --metric` on imported tables and on records.

use std::fs;

use serde_json::json;

use super::ludex;

const LADDER: &str = "part,agent,opponent,wins,draws,losses,level\n\
                      gomoku,M,anchor 0,16,0,0,0\n\
                      gomoku,M,anchor 1,5,0,27,1\n";

#[test]
fn rate_metric_prints_values_of_imported_tables() {
    let at = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(at.path().join(name), text).unwrap();
    write("ladder.csv", LADDER);
    let rate = |args: &[&str]| ludex(at.path(), &[&["rate", "--from-table"], args].concat());
    let told = rate(&["ladder.csv", "--metric", "level", "--metric-arg", "of=progress", "--json"]).json();
    assert_eq!((&told["metric"], &told["args"]), (&json!("level"), &json!({"of": "progress"})));
    let value = &told["values"][0];
    assert_eq!((&value["part"], &value["agent"], &value["kind"]), (&json!("gomoku"), &json!("M"), &json!("number")));
    // BotzoneBench: 5 wins, no draw and 27 losses are 31.25 %.
    assert_eq!((value["value"]["value"].as_f64(), &value["value"]["n"]), (Some(31.25), &json!(32)));
    let text = rate(&["ladder.csv", "--metric", "level"]).well();
    assert!(text.contains("progress") && text.contains("31.2"), "{text}");
    write("scores.json", r#"[{"agent": "a", "part": "p", "value": 4}, {"agent": "b", "part": "p", "value": 3}]"#);
    let told = rate(&["scores.json", "--metric", "normalised", "--json"]).json();
    assert_eq!(told["values"][1]["value"]["value"].as_f64(), Some(75.0));
    write("bad.csv", &LADDER.replace("5,0,27", "5,-1,27"));
    write("both.csv", "part,agent,opponent,wins,draws,losses\np,A,B,1,0,1\np,B,A,2,0,0\n");
    for (args, why) in [
        (
            &["bad.csv", "--metric", "level"][..],
            "bad.csv: row 3, column draws: expected a whole number from 0 to 1000000, got \"-1\"",
        ),
        (
            &["both.csv", "--metric", "wdl"],
            "both.csv: row 3, column wins: expected 1-0-1 for B against A, the reverse of row 2, got 2-0-0",
        ),
        (&["ladder.csv", "--metric", "elo"], "elo needs columns that this table of results lacks: cycle, order"),
        (&["ladder.csv", "--metric", "levl"], "unknown metric \"levl\"; did you mean level?"),
        (
            &["ladder.csv", "--metric", "level", "--metric-arg", "form=new"],
            "form: expected one of paper, corrected, got \"new\"",
        ),
        (&["ladder.csv", "--metric", "level", "--metric-arg", "form"], "--metric-arg: expected NAME=VALUE"),
        (&["ladder.txt", "--metric", "level"], "ladder.txt: expected a table in .csv or .json"),
        (&["none.csv", "--metric", "level"], "none.csv cannot be read"),
    ] {
        let err = rate(args).fails();
        assert!(err.contains(why), "{err:?} does not say {why:?}");
    }
    // Of an agent that lost all its games, only a bound is known.
    write("one.csv", "part,agent,opponent,wins,draws,losses\np,a,strong,0,0,1\n");
    let args = ["one.csv", "--metric", "anchored", "--metric-arg", "fixed=strong=900"];
    let text = rate(&args).well();
    assert!(text.lines().any(|line| line.contains(" < 10")), "{text}");
    let bound = rate(&[&args[..], &["--json"]].concat()).json()["values"][0]["value"].clone();
    assert!(bound["high"].is_number() && bound["low"].is_null(), "{bound}");
    let directed = rate(&["both.csv", "--metric", "wdl", "--directed", "--json"]).json();
    assert_eq!(directed["values"][0]["value"][0], json!(["wins", {"value": 1.0, "n": 4}]));
}

#[test]
fn rate_command_computes_metrics_of_marks() {
    let at = tempfile::tempdir().unwrap();
    let seats = ["--seat", "random", "--seat", "anchor level=1"];
    let play = [&["match", "connect_four"][..], &seats, &["--blocks", "1", "--out", "games.jsonl"]].concat();
    ludex(at.path(), &play).well();
    let rate = |args: &[&str]| ludex(at.path(), &[&["rate", "games.jsonl", "--unrated"], args].concat());
    let told = rate(&["--metric", "share", "--metric-arg", "of=missed_win", "--json"]).json();
    assert_eq!(told["values"][0]["kind"], "shares", "{told}");
}
