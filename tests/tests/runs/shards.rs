//! Plans divided among several machines, and runs merged from shards.

use std::fs;

use serde_json::{Value, json};

use super::{Place, Ran, SUITE, timeless};

/// Additional parts: one with blocks of one match, and one in which invalid matches are played again.
const MORE: &str = r#"
[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random", "anchor level=1"]
blocks = 5
order = "halves"

[[part]]
id = "pig"
game = "pig(winscore=20)"
schedule = "against"
opponents = ["random"]
blocks = 3
[part.policy]
invalid = "replay"
"#;

/// Runs `ludex evaluate` in a separate data folder.
fn evaluate(place: &Place, suite: &str, data: &str, more: &[&str]) -> Ran {
    let agent = if suite == "absolute" { "random" } else { "mcts sims=5" };
    let line = ["evaluate", "--agent", agent, "--suite", suite, "--run", "r", "--json", "--data", data];
    place.ludex(&[&line, more].concat())
}

/// Plays all shards of a run.
fn shards(place: &Place, suite: &str, data: &str, of: usize, more: &[&str]) {
    for number in 1..=of {
        evaluate(place, suite, data, &[&["--shard", &format!("{number}/{of}")], more].concat()).json();
    }
}

/// Runs `ludex evaluate --merge` on shards, given by their numbers.
fn merge(place: &Place, data: &str, of: usize, numbers: &[usize], more: &[&str]) -> Ran {
    let names: Vec<String> = numbers.iter().map(|number| format!("r.{number}-of-{of}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    place.ludex(&[&["evaluate", "--data", data, "--merge"], &names[..], more].concat())
}

/// Returns the files of a run without times.
fn files(place: &Place, data: &str) -> Vec<(&'static str, String)> {
    let folder = place.path(data).join("runs/r");
    let read = |name| (name, timeless(&fs::read_to_string(folder.join(name)).unwrap()));
    ["run.json", "suite.toml", "episodes.jsonl", "calls.jsonl", "log.jsonl"].map(read).to_vec()
}

/// Plays eight shards, merges them, and checks that the result equals the whole run except for times.
fn eight_shards_are_the_whole(place: &Place, suite: &str, more: &[&str]) {
    let whole = evaluate(place, suite, "whole", &[&["--jobs", "1"], more].concat()).json();
    shards(place, suite, "parts", 8, more);
    let merged = merge(place, "parts", 8, &[3, 1, 2, 8, 5, 4, 7, 6], &["--json"]).json();
    assert_eq!(files(place, "parts"), files(place, "whole"));
    assert_eq!((&merged["shards"], &merged["matches"]), (&json!(8), &whole["matches"]));
    assert_eq!((&merged["parts"], &merged["groups"]), (&whole["parts"], &whole["groups"]));
    for data in ["whole", "parts"] {
        let verified = place.ludex(&["verify", "r", "--data", data, "--json"]).json();
        assert_eq!((&verified["complete"]["complete"], &verified["verified"]), (&json!(true), &whole["matches"]));
    }
    // The merged run behaves like any other run.
    assert_eq!(evaluate(place, suite, "parts", more).json()["played"], 0);
}

#[test]
fn merged_shards_equal_whole_run() {
    let place = Place::new();
    fs::write(place.path("more.toml"), [SUITE, MORE].concat()).unwrap();
    eight_shards_are_the_whole(&place, "more.toml", &["--seed-sharing", "once"]);
    let at = |data: &str| place.path(data).join("runs/r").display().to_string();
    let same = place.ludex(&["compare", &at("parts"), &at("whole"), "--json"]).json();
    assert_eq!(same["unpaired"], json!([0, 0]), "{same}");
    place.ludex(&["export", "r", "--data", "parts", "--bundle", "r.tar.gz"]).well();
    assert!(place.ludex(&["verify", "r.tar.gz"]).well().contains("complete: all "));
    let report = ["rate", "parts/runs/r/episodes.jsonl", "--report", "report"];
    assert!(place.ludex(&report).ok && place.path("parts/runs/r/report.html").exists());

    // The status of a shard names its run and its number.
    let status = place.ludex(&["status", "r.3-of-8", "--data", "parts"]);
    assert!(status.well().contains("shard 3/8, done: "), "{}", status.out);
    let status = place.ludex(&["status", "r.3-of-8", "--data", "parts", "--json"]).json();
    assert_eq!((&status["shard"], &status["run"], &status["state"]), (&json!("3/8"), &json!("r"), &json!("done")));
    assert!(place.ludex(&["status", "--data", "parts"]).well().contains("\nr.8-of-8 "));
}

/// Checks merging if the suite has a rating ladder. One shard plays the whole ladder, so some of the eight shards may
/// have no match.
#[test]
fn merged_shards_of_ladder_suite_equal_whole_run() {
    eight_shards_are_the_whole(&Place::new(), "absolute", &["--scale", "0.02"]);
}

#[test]
fn merge_error_lists_incomplete_shards() {
    let place = Place::new();
    shards(&place, "small.toml", "d", 3, &[]);
    let fails = |numbers: &[usize], more: &[&str], why: &str| {
        let ran = merge(&place, "d", 3, numbers, more);
        assert!(ran.fails().contains(why), "{why}: {}", ran.err);
        assert!(!place.path("d/runs/r").exists(), "{why}");
    };
    let folder = |name: &str| place.path("d/runs").join(name);
    fails(&[1, 3], &[], "shard 2 of 3 is missing");
    fails(&[2], &[], "shard 1 of 3 is missing\nshard 3 of 3 is missing");
    fails(&[1, 2, 2], &[], "shard 2 of 3: expected once, got twice: ");
    fails(&[1, 2, 2], &[], "shard 3 of 3 is missing");
    let copy = |from: &str, to: &str| {
        fs::create_dir_all(folder(to)).unwrap();
        for name in ["run.json", "suite.toml", "episodes.jsonl", "calls.jsonl", "log.jsonl"] {
            fs::copy(folder(from).join(name), folder(to).join(name)).unwrap();
        }
    };
    copy("r.2-of-3", "again");
    let twice = merge(&place, "d", 3, &[1, 2, 3], &["again"]);
    let both = ["r.2-of-3", "again"].map(|name| place.path("d/runs").join(name));
    let named = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(both.iter().all(|path| twice.fails().contains(&named(path))), "{}", twice.err);

    // Shards of other runs, and runs that are not shards.
    let foreign = |data: &str, more: &[&str], why: &str| {
        let shard = [&["--shard", "3/3"], more].concat();
        evaluate(&place, "small.toml", data, &shard).json();
        let path = place.path(data).join("runs/r.3-of-3").display().to_string();
        fails(&[1, 2], &[&path], why);
    };
    foreign("scaled", &["--scale", "0.5"], "scale: was 1, is 0.5");
    foreign("dealt", &["--seed-sharing", "once"], "deals: was paired, is once");
    foreign("secret", &["--seed-secret", "00ff"], "seeds: was open (0), is a secret");
    fs::write(place.path("small.toml"), SUITE.replace("blocks = 12", "blocks = 13")).unwrap();
    foreign("suite", &[], "suite: was small version 1");
    fs::write(place.path("small.toml"), SUITE).unwrap();
    let line = ["evaluate", "--agent", "mcts sims=5", "--suite", "small.toml", "--data", "d", "--run"];
    place.ludex(&[&line[..], &["other", "--shard", "3/3"]].concat()).well();
    fails(&[1, 2], &["other.3-of-3"], "run: was r, is other");
    place.ludex(&[&line[..], &["plain", "--scale", "0.1"]].concat()).well();
    fails(&[1, 2, 3], &["plain"], "expected a shard (from `ludex evaluate --shard K/N`)");
    evaluate(&place, "small.toml", "four", &["--shard", "3/4"]).json();
    fails(&[1, 2], &[&place.path("four/runs/r.3-of-4").display().to_string()], "number of shards: was 3, is 4");

    // An unfinished shard, and a shard whose record was replaced.
    let begun = ["--shard", "3/3", "--budget", "games=2", "--jobs", "1"];
    evaluate(&place, "small.toml", "begun", &begun).json();
    let path = place.path("begun/runs/r.3-of-3").display().to_string();
    fails(&[1, 2], &[&path], "shard 3 of 3 (");
    fails(&[1, 2], &[&path], "is not complete: ");
    fails(&[1, 2], &[&path], "stopped, the budget of 2 matches is used up");
    let change = |name: &str, file: &str, with: &dyn Fn(String) -> String| {
        let path = folder(name).join(file);
        fs::write(&path, with(fs::read_to_string(&path).unwrap())).unwrap();
    };
    copy("r.3-of-3", "changed");
    change("changed", "episodes.jsonl", &|text| text.replacen("\"reason\":\"finished\"", "\"reason\":\"aborted\"", 1));
    fails(&[1, 2], &["changed"], "has faults:\n  ");
    copy("r.3-of-3", "lost");
    change("lost", "episodes.jsonl", &|text| text.lines().skip(2).map(|line| format!("{line}\n")).collect());
    fails(&[1, 2], &["lost"], "shard 3 of 3 (");
    copy("r.3-of-3", "renamed");
    change("renamed", "run.json", &|text| text.replace("3/3", "2/3"));
    let ran = merge(&place, "d", 3, &[1], &["renamed", "r.3-of-3"]);
    assert!(ran.fails().contains("although the log says that the run is done"), "{}", ran.err);
    // Rules of another version, in one shard or in all shards.
    let other_rules = |text: String| {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        settings["games"]["nim"] = "0123".into();
        settings.to_string()
    };
    for number in [3, 2, 1] {
        let name = format!("rules{number}");
        copy(&format!("r.{number}-of-3"), &name);
        change(&name, "run.json", &other_rules);
    }
    fails(&[1, 2], &["rules3"], "rules of nim: was ");
    fails(&[], &["rules1", "rules2", "rules3"], "rules of nim: was 0123");

    // With all shards, the run is created, even from bundles, and written once.
    let bundles = [1, 2, 3].map(|number| {
        let (run, file) = (format!("r.{number}-of-3"), format!("{number}.tar.gz"));
        place.ludex(&["export", &run, "--data", "d", "--bundle", &file]).well();
        file
    });
    let into =
        [&["evaluate", "--merge"][..], &bundles.each_ref().map(String::as_str)[..], &["--into", "made/here"]].concat();
    place.ludex(&into).well();
    assert!(place.ludex(&["verify", "made/here"]).well().contains("complete: all "));
    assert!(place.ludex(&into).fails().contains("contains a run; remove the run"));
    let told = merge(&place, "d", 3, &[1, 2, 3], &[]);
    assert!(told.well().contains("3 shards, "), "{}", told.out);
}

#[test]
fn invalid_shard_options_are_refused() {
    let place = Place::new();
    for bad in ["0/8", "9/8", "2/x", "2", "8"] {
        let ran = evaluate(&place, "small.toml", "d", &["--shard", bad]);
        assert!(ran.fails().contains("1/8 is the first of eight shards"), "{bad}: {}", ran.err);
    }
    for other in [&["--stop-at-ci", "60"][..], &["--estimate"]] {
        let ran = evaluate(&place, "small.toml", "d", &[&["--shard", "1/8"], other].concat());
        assert!(ran.fails().contains("cannot be used with"), "{}", ran.err);
    }
    assert!(!place.path("d").exists());
    assert!(place.ludex(&["evaluate", "--merge", "nothing"]).fails().contains("there is no run \"nothing\""));
}
