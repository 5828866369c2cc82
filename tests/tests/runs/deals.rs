//! Deals that never repeat, for agents that might remember earlier deals, and deals shared by the matches of a pair.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::{Place, records, timeless};

/// Suite with games of hidden information, a game with dice, and a game with neither.
const SUITE: &str = r#"
name = "dealt"
version = 1
title = "Dealt"
deals = "once"

[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random", "anchor level=1"]
blocks = 6

[[part]]
id = "leduc"
game = "leduc_poker"
schedule = "climb"
blocks = 3

[[part]]
id = "pig"
game = "pig(winscore=20)"
schedule = "against"
opponents = ["random"]
blocks = 3

[[part]]
id = "ttt"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 3
"#;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn only_paired_matches_share_a_deal() {
    let place = Place::new();
    fs::write(place.path("dealt.toml"), SUITE).unwrap();
    let play = |run: &str, more: &[&str]| {
        let line = ["evaluate", "--agent", "mcts sims=10", "--suite", "dealt.toml", "--jobs", "1", "--run", run];
        place.ludex(&[&line, more].concat()).well().to_owned()
    };
    play("first", &[]);
    let all = records(&place, "first");
    let part = |record: &Value| text(&record["episode"]).split('.').nth(1).unwrap().to_owned();
    let mut seats: BTreeMap<(String, String), [i32; 2]> = BTreeMap::new();
    for record in &all {
        let own = usize::from(record["seats"][1]["name"] == "mcts sims=10");
        let other = text(&record["seats"][1 - own]["name"]);
        seats.entry((part(record), other)).or_default()[own] += 1;
        assert_eq!(record["pair"].is_null(), part(record) != "ttt", "only matches on one seed are a pair: {record}");
    }
    assert!(seats.values().all(|[first, second]| first == second), "{seats:?}");
    for (id, once) in [("kuhn", true), ("leduc", true), ("pig", true), ("ttt", false)] {
        let seeds: Vec<String> = all.iter().filter(|r| part(r) == id).map(|r| text(&r["seed"])).collect();
        let different = BTreeSet::from_iter(&seeds).len();
        assert_eq!(different, if once { seeds.len() } else { seeds.len() / 2 }, "{id}");
    }
    let verified = place.ludex(&["verify", "first"]);
    assert!(verified.well().contains("complete: all "), "{}", verified.out);
    assert!(fs::read_to_string(place.of_run("first", "run.json")).unwrap().contains("\"deals\": \"once\""));

    // A second process computes the same plan.
    fs::create_dir(place.path("again")).unwrap();
    play("first", &["--data", "again"]);
    let [one, other] = ["ludex-data", "again"]
        .map(|data| timeless(&fs::read_to_string(place.path(data).join("runs/first/episodes.jsonl")).unwrap()));
    assert_eq!(one, other);

    // The same agents on the same deals form pairs; on different deals they do not.
    play("second", &[]);
    let same = place.ludex(&["compare", "first", "second", "--json"]).json();
    assert_eq!((&same["unpaired"], &same["all"]["score"]["value"]), (&serde_json::json!([0, 0]), &0.0.into()));
    play("paired", &["--seed-sharing", "paired"]);
    assert!(records(&place, "paired").iter().all(|record| record["pair"].is_string()));
    let refused = place.ludex(&["compare", "first", "paired"]);
    let why = "expected runs with equal seed sharing, got first with once and paired with paired";
    assert!(refused.fails().contains(why), "{}", refused.err);

    // The mode of dealing is a setting of the run.
    let line = ["evaluate", "--agent", "mcts sims=10", "--suite", "dealt.toml", "--run"];
    let other = place.ludex(&[&line[..], &["paired", "--seed-sharing", "once"]].concat());
    assert!(other.fails().contains("deals: was paired, is once"), "{}", other.err);
    let bad = place.ludex(&[&line[..], &["x", "--seed-sharing", "twice"]].concat());
    assert!(bad.fails().contains("expected `once` or `paired`"), "{}", bad.err);
    fs::write(place.path("bad.toml"), SUITE.replace("\"once\"", "\"twice\"")).unwrap();
    let bad = place.ludex(&["evaluate", "--agent", "random", "--suite", "bad.toml", "--run", "x"]);
    assert!(bad.fails().contains("line 5"), "{}", bad.err);
}

/// Checks that a run of an older version, without the field for deals, is read as paired: both matches of a pair share
/// a seed.
#[test]
fn old_run_without_deals_field_has_paired_matches() {
    let place = Place::new();
    place.evaluate("random", "old", &[]).json();
    let path = place.of_run("old", "run.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(settings.as_object_mut().unwrap().remove("deals"), Some("paired".into()));
    fs::write(&path, settings.to_string()).unwrap();
    assert!(place.ludex(&["verify", "old"]).well().contains("complete: all "));
    assert_eq!(place.evaluate("random", "old", &[]).json()["played"], 0);
    // Records whose seeds do not follow from the settings are reported.
    fs::write(place.path("small.toml"), SUITE).unwrap();
    let line = ["evaluate", "--agent", "random", "--suite", "small.toml", "--run", "new"];
    place.ludex(&line).well();
    let path = place.of_run("new", "run.json");
    let paired = fs::read_to_string(&path).unwrap().replace("\"deals\": \"once\"", "\"deals\": \"paired\"");
    fs::write(&path, paired).unwrap();
    let refused = place.ludex(&["verify", "new"]);
    let told = [refused.out.as_str(), refused.err.as_str()].concat();
    assert!(!refused.ok && told.contains("from the run's seeds") && told.contains("deals, got \"\""), "{told}");
}
