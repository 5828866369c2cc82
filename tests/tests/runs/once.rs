//! Replies that are requested once per run and then reused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ludex_protocol::record::{MoveRecord, Record, RecordEvent};
use ludex_tests::run::lines;
use serde_json::Value;

use super::models::Stub;
use super::{Place, Ran, killed};

const SUITE: &str = r#"
name = "kept"
version = 1
title = "Kept"
[policy]
illegal = { tries = 3, then = "default" }

[[part]]
id = "cards"
game = "battle_cards(format=match,rounds=3,revise=alternate)"
schedule = "against"
opponents = ["random", "anchor level=1"]
cache_answers = ["initial"]
blocks = 3

[[part]]
id = "anew"
game = "battle_cards(format=match,rounds=2,revise=alternate)"
schedule = "against"
opponents = ["random"]
blocks = 2
"#;

fn evaluate(place: &Place, agent: &str, run: &str, more: &[&str]) -> Ran {
    fs::write(place.path("kept.toml"), SUITE).unwrap();
    place.ludex(&[&["evaluate", "--agent", agent, "--suite", "kept.toml", "--run", run, "--json"], more].concat())
}

fn records(place: &Place, run: &str) -> Vec<Record> {
    let all = lines(&place.path("ludex-data/runs").join(run), "episodes.jsonl");
    all.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect()
}

/// Returns the first plans of a part by agent and seat, and the number of first plans that are marked as reused.
fn first_plans(records: &[Record], part: &str) -> (BTreeMap<(String, u32), BTreeSet<String>>, usize) {
    let (mut plans, mut again): (BTreeMap<_, BTreeSet<String>>, usize) = Default::default();
    for record in records.iter().filter(|record| record.header.episode.contains(&format!(".{part}."))) {
        let moves = record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None });
        let mut seen = BTreeSet::new();
        for m in moves.filter(|m| seen.insert(m.seat)) {
            let MoveRecord { seat, action, document, notes, .. } = m;
            let name = record.header.seats[*seat as usize].name.clone();
            plans.entry((name, *seat)).or_default().insert(format!("{action:?} {document:?}"));
            again += usize::from(notes.as_ref().is_some_and(|notes| notes.more.contains_key("once")));
        }
    }
    (plans, again)
}

#[test]
fn cached_reply_is_used_in_all_matches_of_its_seat() {
    let place = Place::new();
    for (run, jobs) in [("one", "1"), ("four", "4")] {
        assert_eq!(evaluate(&place, "sound_plan", run, &["--jobs", jobs]).json()["end"], "done");
        assert!(place.ludex(&["verify", run]).well().contains("complete: all 16"));
    }
    let all = records(&place, "one");
    let (plans, again) = first_plans(&all, "cards");
    // Three agents on two seats cause six requests, and 12 matches have 24 first plans.
    assert_eq!((plans.len(), again), (6, 18), "{plans:?}");
    assert!(plans.values().all(|said| said.len() == 1), "{plans:?}");
    let kept = lines(&place.path("ludex-data/runs/one"), "answers.jsonl");
    assert!(kept.iter().all(|line| line["phase"] == "initial" && line["asked"].as_str().unwrap().len() == 64));
    // In the part `anew`, every agent gets a request in each match.
    let (plans, again) = first_plans(&all, "anew");
    assert_eq!(again, 0);
    assert!(plans[&("random".to_owned(), 0)].len() > 1);
    // The order of the matches does not affect the documents.
    assert_eq!(first_plans(&records(&place, "four"), "cards"), first_plans(&all, "cards"));
    // A bundle contains the replies. Shards would request them several times, so shards are refused.
    place.ludex(&["export", "one", "--bundle", "one.tar.gz"]).well();
    assert!(place.ludex(&["verify", "one.tar.gz"]).well().contains("complete: all 16"));
    let shard = evaluate(&place, "sound_plan", "part", &["--shard", "1/2"]);
    assert!(shard.fails().contains("cannot be played in shards"), "{}", shard.err);
    // Adds a cached reply that its first episode does not contain.
    let path = place.of_run("one", "episodes.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let named = text.split("\"once\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    fs::write(&path, text.replace(&format!("\"once\":\"{named}\""), "\"once\":\"one.cards.9-9.0.0\"")).unwrap();
    let verified = place.ludex(&["verify", "one"]);
    let told = verified.out + &verified.err;
    assert!(told.contains("expected the cached reply"), "{told}");
}

/// Checks that a model pays for a cached reply once, even if the run is killed in between, and that `verify` accepts
/// the matches.
#[test]
fn cached_reply_costs_one_call() {
    let place = Place::new();
    let stub = Stub::start(&place, &["--documents", "--malformed", "0"]);
    let model = stub.model("m", "");
    assert_eq!(evaluate(&place, &model, "whole", &["--jobs", "3"]).json()["end"], "done");
    let calls = lines(&place.path("ludex-data/runs/whole"), "calls.jsonl");
    let verified = place.ludex(&["verify", "whole"]);
    assert!(verified.well().contains("complete: all 16"), "{}", verified.out);
    // First turns, in the part with `cache_answers`, that caused a paid call: one per seat.
    let paid: BTreeSet<(String, u64)> = calls
        .iter()
        .filter(|call| call["episode"].as_str().unwrap().contains(".cards.") && turn_of(call) == 0)
        .map(|call| (call["episode"].as_str().unwrap().to_owned(), call["seat"].as_u64().unwrap()))
        .collect();
    let seats: Vec<u64> = paid.iter().map(|(_, seat)| *seat).collect();
    assert!(seats.len() == 2 && seats[0] != seats[1], "{paid:?}");

    fs::write(place.path("kept.toml"), SUITE).unwrap();
    let line = ["evaluate", "--agent", &model, "--suite", "kept.toml", "--run", "cut", "--jobs", "1", "--json"];
    let cut = killed(&place, "cut", &line, 4, 20_000);
    assert_eq!(cut.json()["end"], "done");
    assert!(place.ludex(&["verify", "cut"]).well().contains("complete: all 16"));
    let questions = lines(&place.path("ludex-data/runs/cut"), "answers.jsonl");
    let asked: BTreeSet<String> =
        questions.iter().map(|q| format!("{} {} {} {}", q["agent"], q["game"], q["seat"], q["asked"])).collect();
    assert_eq!(asked.len(), questions.len(), "a request was repeated");
}

fn turn_of(call: &Value) -> u64 {
    call["key"].as_str().unwrap().split('.').next().unwrap().parse().unwrap()
}
