//! Suite parts that start in the middle of a game, and parts whose candidates meet until their ratings are stable.

use std::collections::BTreeMap;
use std::fs;

use ludex_protocol::record::{EndReason, Record, RecordEvent};
use ludex_tests::run::lines;

use super::{Place, killed, table};

const SPOTS: &str = r#"
name = "spots"
version = 1
title = "Spots"

[[part]]
id = "four"
game = "connect_four"
schedule = "against"
opponents = ["anchor level=1"]
starts = "four.jsonl"
moves = 3
blocks = 3

[[part]]
id = "cards"
game = "kuhn_poker"
schedule = "self_play"
starts = "cards.jsonl"
moves = 1
blocks = 2
"#;

const FOUR: &str = "{\"moves\": [3, 3]}\n{\"moves\": [\"x0\", \"o6\", \"x1\"]}\n{}\n";
const CARDS: &str = "{\"chance\": [2, 0]}\n{\"chance\": [0, 1], \"moves\": [1]}\n";

fn of_run(place: &Place, run: &str) -> Vec<Record> {
    let all = lines(&place.path("ludex-data/runs").join(run), "episodes.jsonl");
    all.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect()
}

#[test]
fn block_plays_fixed_number_of_decisions_from_its_start() {
    let place = Place::new();
    for (name, text) in [("spots.toml", SPOTS), ("four.jsonl", FOUR), ("cards.jsonl", CARDS)] {
        fs::write(place.path(name), text).unwrap();
    }
    let evaluate = |run: &str, more: &[&str]| {
        place.ludex(
            &[&["evaluate", "--agent", "random", "--suite", "spots.toml", "--run", run, "--json"], more].concat(),
        )
    };
    let ran = evaluate("r", &[]);
    assert_eq!(ran.json()["end"], "done");
    let mut starts: BTreeMap<String, Vec<Vec<RecordEvent>>> = BTreeMap::new();
    for record in of_run(&place, "r") {
        let start = record.header.start as usize;
        let name: Vec<&str> = record.header.episode.split('.').collect();
        let [part, block, turn] = [1, 3, 4].map(|k| name[k]);
        starts.entry(format!("{part} {block}")).or_default().push(record.events[..start].to_vec());
        let moves =
            record.events[start..].iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None });
        // In `four`, the candidate plays the seat to move; in `cards`, it plays both seats.
        let own = moves.filter(|m| part == "cards" || m.seat.to_string() == *turn).count();
        match record.footer.reason {
            Some(EndReason::Truncated) => {
                assert_eq!(own, if part == "four" { 3 } else { 1 }, "{}", record.header.episode)
            }
            reason => assert!(reason == Some(EndReason::Finished) && own <= 3, "{reason:?}"),
        }
    }
    let lengths: Vec<usize> = starts.values().map(|all| all[0].len()).collect();
    assert_eq!(lengths, [2, 3, 2, 3, 0]);
    // Moves of the start position were not played by the agents, so their marks are not displayed.
    let file = place.of_run("r", "episodes.jsonl").display().to_string();
    for (line, record) in
        (1..).zip(of_run(&place, "r")).filter(|(_, record)| record.header.episode.starts_with("r.four."))
    {
        let shown = place.ludex(&["show", &format!("{file}:{line}"), "--marks"]);
        let plies = shown
            .well()
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["ply"].as_u64().unwrap());
        let plies: Vec<u64> = plies.collect();
        assert!(!plies.is_empty() && plies.iter().all(|ply| *ply > u64::from(record.header.start)), "{plies:?}");
    }
    // Both matches of a block have the same start.
    assert!(starts.values().all(|all| all.iter().all(|start| *start == all[0])));
    assert_eq!(starts["four 0"].len(), 2);
    assert!(place.ludex(&["verify", "r"]).well().contains("complete: all 8"));

    // The run stores its starts, so the files next to the suite are no longer needed. A different start makes a
    // different suite.
    fs::write(place.path("four.jsonl"), FOUR.replace("[3, 3]", "[3, 2]")).unwrap();
    assert!(place.ludex(&["verify", "r"]).well().contains("complete: all 8"));
    assert!(evaluate("r", &[]).fails().contains("suite: was spots version 1"));
    // A record with a different start does not belong to the plan.
    let path = place.of_run("r", "suite.toml");
    let kept = fs::read_to_string(&path).unwrap();
    fs::write(&path, kept.replace("[3, 3]", "[3, 2]")).unwrap();
    let verified = place.ludex(&["verify", "r"]);
    assert!(!verified.ok && verified.out.contains("start: expected the start"), "{}{}", verified.out, verified.err);
    // A record with more decisions than the plan allows does not belong to it either.
    fs::write(&path, kept.replace("moves = 3", "moves = 2")).unwrap();
    let verified = place.ludex(&["verify", "r"]);
    assert!(
        verified.out.contains("end: expected 2 decisions (set by the suite), got 3 decisions of the candidate"),
        "{}",
        verified.out
    );

    // Errors in a file of starts are reported before the first match.
    for (name, text, why) in [
        ("four.jsonl", "{\"moves\": [3, 3]}\n{\"moves\": [9]}\n{}\n", "four.jsonl line 2: moves[0] 9"),
        ("four.jsonl", "{}\n{}\n", "blocks = 3, but four.jsonl has 2 starts"),
        ("cards.jsonl", "{}\n{\"moves\": [1]}\n", "cards.jsonl line 2: moves[0] 1: expected a chance outcome before"),
    ] {
        let was = fs::read_to_string(place.path(name)).unwrap();
        fs::write(place.path(name), text).unwrap();
        let failed = evaluate("wrong", &[]);
        assert!(failed.fails().contains(why), "{}", failed.err);
        fs::write(place.path(name), was).unwrap();
    }
    fs::remove_file(place.path("cards.jsonl")).unwrap();
    assert!(evaluate("wrong", &[]).fails().contains("cards.jsonl cannot be read"));
    fs::write(place.path("spots.toml"), SPOTS.replace("cards.jsonl", "../cards.jsonl")).unwrap();
    assert!(evaluate("wrong", &[]).fails().contains("expected the name of a file in the suite's folder"));
    assert!(!place.of_run("wrong", "run.json").exists());
}

const SETTLED: &str = r#"
name = "settled"
version = 1
title = "Settled"

[[part]]
id = "ttt"
game = "tic_tac_toe"
schedule = "converge"
stop = { metric = "trueskill", games = 20, sigma = 2, change = 0.8, over = 4, most = 60 }
metrics = ["score_rate"]
"#;

/// Checks that the matches of a part with random pairs do not depend on interruptions of the run or on the number of
/// parallel matches.
#[test]
fn random_pairs_do_not_depend_on_execution() {
    let place = Place::new();
    fs::write(place.path("settled.toml"), SETTLED).unwrap();
    let agents = ["--agent", "random", "--agent", "mcts sims=40", "--agent", "mcts sims=400"];
    let line = |run: &'static str, jobs: &'static str| {
        let fixed = ["--suite", "settled.toml", "--run", run, "--jobs", jobs, "--json"];
        [&["evaluate"][..], &agents, &fixed].concat()
    };
    let one = place.ludex(&line("one", "1"));
    let four = place.ludex(&line("four", "4"));
    let cut = killed(&place, "cut", &line("cut", "2"), 3, 4_000);
    assert_eq!((table(&four), table(&cut)), (table(&one), table(&one)));
    let names = |run: &str| {
        let all = of_run(&place, run).into_iter();
        let mut all: Vec<String> = all.map(|r| r.header.episode.split_once('.').unwrap().1.to_owned()).collect();
        all.sort();
        all
    };
    assert!((30..=90).contains(&names("one").len()), "{}", names("one").len());
    assert_eq!((names("four"), names("cut")), (names("one"), names("one")));
    for run in ["one", "four", "cut"] {
        assert!(place.ludex(&["verify", run]).well().contains("complete: all "));
    }
    // Without its last match, the run is incomplete.
    let path = place.of_run("one", "episodes.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&path, text.replace(&format!("{last}\n"), "")).unwrap();
    assert!(!place.ludex(&["verify", "one"]).out.contains("complete: all "));
}
