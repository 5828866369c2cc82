//! Fields of a suite that affect the matches: roles, variants, candidates that meet themselves, sweeps, random seats
//! and orders, means over parts.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{Place, records, table, timeless};

const SUITE: &str = r#"
name = "fields"
version = 1
title = "Fields"
seed = 5

[[role]]
name = "reference"

[[variant]]
name = "plain"
parts = ["nim"]
[[variant]]
name = "brief"
parts = ["nim"]
llm = { rules = "short" }

[[summary]]
id = "points"
metric = "score"
except = ["cup"]
[[summary]]
id = "share"
metric = "score_rate"
form = "percent_of_best"
[[summary]]
id = "against_reference"
metric = "length"
except = ["itself"]
where = { opponent = "@reference" }

[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random", "@reference"]
sweep = { is_misere = [true, false] }
blocks = 2
metrics = ["length"]

[[part]]
id = "itself"
game = "tic_tac_toe"
schedule = "against"
opponents = ["@reference"]
self = true
blocks = 3
metrics = ["score_rate", "length"]

[[part]]
id = "cup"
game = "tic_tac_toe"
schedule = "round_robin"
blocks = 1
cycles = 3
seats = "drawn"
order = "shuffled"
"#;

const REFERENCE: &str = "anchor level=1";

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path("fields.toml"), SUITE).unwrap();
    place
}

/// Runs `ludex evaluate` with two candidates, the second of which is also the reference.
fn evaluate(place: &Place, run: &str, more: &[&str]) -> super::Ran {
    let line =
        ["evaluate", "--suite", "fields.toml", "--agent", "random", "--agent", REFERENCE, "--json", "--run", run];
    place.ludex(&[&line, more].concat())
}

#[test]
fn roles_are_stored_with_run() {
    let place = place();
    for (more, why) in [
        (&[][..], "role \"reference\" has no agents: expected 1 agent; set them with --role reference=AGENT"),
        (&["--role", "referee=random"], "fields has no role \"referee\"; its roles: reference"),
        (&["--role", "reference=random", "--role", "reference=solver"], "role \"reference\": expected 1 agent, got 2"),
        (&["--role", "random"], "role: expected ROLE=AGENT"),
        (&["--role", "reference=randon"], "did you mean random?"),
    ] {
        let ran = evaluate(&place, "r", more);
        assert!(ran.fails().contains(why), "{}", ran.err);
        assert!(!place.of_run("r", "run.json").exists(), "no run was created");
    }
    let filled = ["--role", "reference=anchor level=1"];
    evaluate(&place, "r", &[&filled[..], &["--budget", "games=4"]].concat()).json();
    let about: Value = serde_json::from_str(&fs::read_to_string(place.of_run("r", "run.json")).unwrap()).unwrap();
    assert_eq!(about["roles"], serde_json::json!({"reference": [REFERENCE]}));
    let other = evaluate(&place, "r", &["--role", "reference=anchor level=0"]);
    assert!(other.fails().contains("role reference: was anchor level=1, is anchor level=0"), "{}", other.err);
    // The stopped run is continued and equals an uninterrupted run.
    let whole = evaluate(&place, "whole", &filled);
    assert_eq!(table(&evaluate(&place, "r", &filled)), table(&whole));
    let sorted = |run: &str| {
        let text = fs::read_to_string(place.of_run(run, "episodes.jsonl")).unwrap();
        let plain = |line: &str| {
            let line = timeless(line).replace(&format!("\"{run}."), "\"");
            line.replace(&format!("\"run\":\"{run}\""), "")
        };
        let mut lines: Vec<String> = text.lines().map(plain).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted("r"), sorted("whole"));

    // A role is filled by another agent in each run.
    evaluate(&place, "other", &["--role", "reference=anchor level=0"]).json();
    let against_role = |runs: &[&str]| {
        let line = [&["rate"], runs, &["--metric", "length", "--where", "opponent=@reference", "--json"]].concat();
        let told = place.ludex(&line).json();
        let own = |one: &&Value| one["part"] == "nim" && one["agent"] == "random / plain";
        told["values"].as_array().unwrap().iter().find(own).unwrap()["value"]["n"].as_u64().unwrap()
    };
    assert_eq!(against_role(&["r", "other"]), against_role(&["r"]) + against_role(&["other"]));

    place.ludex(&["export", "r", "--bundle", "r.tar.gz"]).well();
    let verified = place.ludex(&["verify", "r.tar.gz"]);
    assert!(verified.well().contains("complete"), "{}", verified.out);
    let card =
        std::process::Command::new("tar").args(["xzOf", "r.tar.gz"]).current_dir(place.path("")).output().unwrap();
    assert!(String::from_utf8_lossy(&card.stdout).contains("| roles | reference: anchor level=1 |"));
}

#[test]
fn suite_fields_determine_matches() {
    let place = place();
    let ran = evaluate(&place, "r", &["--role", "reference=anchor level=1"]).json();
    let all = records(&place, "r");
    let of = |part: &str| -> Vec<&Value> {
        let own = |r: &&Value| r["episode"].as_str().unwrap().starts_with(&format!("r.{part}."));
        all.iter().filter(own).collect()
    };
    // Two candidates in two variants against two opponents, in two games from both seats, on two seeds.
    let nim = of("nim");
    assert_eq!(nim.len(), 2 * 2 * 2 * 2 * 2 * 2);
    let mut games: BTreeMap<String, usize> = BTreeMap::new();
    nim.iter().for_each(|r| *games.entry(r["params"]["is_misere"].to_string()).or_default() += 1);
    assert_eq!(games, BTreeMap::from([("false".to_owned(), 32), ("true".to_owned(), 32)]));
    let mut seeds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    nim.iter().for_each(|r| seeds.entry(r["pair"].as_str().unwrap()).or_default().push(r["seed"].as_str().unwrap()));
    assert!(seeds.values().all(|seeds| seeds.len() == 4 && seeds.iter().all(|seed| seed == &seeds[0])));
    let names = |part: &str| -> Vec<&str> {
        let rows = ran["parts"].as_array().unwrap().iter().filter(|row| row["part"] == part);
        rows.map(|row| row["agent"].as_str().unwrap()).collect()
    };
    let varied = ["random / plain", "anchor level=1 / plain", "random / brief", "anchor level=1 / brief"];
    assert_eq!(names("nim"), varied);
    assert_eq!(names("cup"), ["random", REFERENCE]);

    // The reference is a single agent: it meets itself, and its result is taken from the seat that the plan gives to
    // the first side.
    assert_eq!(of("itself").len(), 2 * 6);
    let rows = ran["parts"].as_array().unwrap();
    let own = rows.iter().find(|row| row["part"] == "itself" && row["agent"] == REFERENCE).unwrap();
    assert_eq!(own["against"].as_array().unwrap().len(), 1);
    assert_eq!((&own["against"][0]["opponent"], &own["metrics"]["length"]["n"]), (&REFERENCE.into(), &6.into()));
    assert_eq!(own["metrics"]["score_rate"]["value"], own["score"]["value"]);
    let about: Value = serde_json::from_str(&fs::read_to_string(place.of_run("r", "run.json")).unwrap()).unwrap();
    let agents = about["agents"].as_array().unwrap();
    // In nim, the part does not name the reference as an opponent, so an agent with the same spec is a separate
    // opponent.
    assert_eq!(agents.iter().filter(|agent| agent["name"] == REFERENCE).count(), 2, "{agents:?}");

    // Three cycles of one pair, with one match each, cover both orders.
    let cup = of("cup");
    assert_eq!(cup.len(), 3);
    assert!(
        cup.iter().any(|r| r["seats"][0]["name"] == "random") && cup.iter().any(|r| r["seats"][1]["name"] == "random")
    );

    let score = |part: &str, agent: &str| -> f64 {
        let row = rows.iter().find(|row| row["part"] == part && row["agent"] == agent).unwrap();
        row["score"]["value"].as_f64().unwrap()
    };
    let summaries = ran["summaries"].as_array().unwrap();
    let mean = |id: &str, agent: &str| summaries.iter().find(|s| s["summary"] == id && s["agent"] == agent).unwrap();
    for agent in varied {
        assert_eq!(mean("points", agent)["value"].as_f64().unwrap(), score("nim", agent));
    }
    assert_eq!(mean("points", "random")["parts"], 1, "the cup is excluded");
    // Only one part requests score_rate.
    let best = score("itself", "random").max(score("itself", REFERENCE));
    let share = mean("share", "random")["value"].as_f64().unwrap();
    assert!((share - 100.0 * score("itself", "random") / best).abs() < 1e-9, "{share}");
    // A summary with a condition covers the matches against the reference alone.
    let against = |opponent: &dyn Fn(&str) -> bool| {
        let plays =
            |r: &Value, name: &dyn Fn(&str) -> bool| (0..2).any(|k| name(r["seats"][k]["name"].as_str().unwrap()));
        let own = nim.iter().filter(|r| plays(r, &|name| name == "random / plain") && plays(r, opponent));
        let moves = own.map(|r| r["events"].as_array().unwrap().iter().filter(|e| e["kind"] == "move").count());
        let moves: Vec<usize> = moves.collect();
        moves.iter().sum::<usize>() as f64 / moves.len() as f64
    };
    let found = mean("against_reference", "random / plain")["value"].as_f64().unwrap();
    assert!((found - against(&|name| name == REFERENCE)).abs() < 1e-9, "{found}");
    assert_ne!(found, against(&|_| true), "the other opponent's matches are longer or shorter");
    let verified = place.ludex(&["verify", "ludex-data/runs/r"]);
    assert!(verified.well().contains("complete"), "{}", verified.out);
    let forged = fs::read_to_string(place.of_run("r", "suite.toml")).unwrap().replace("[true, false]", "[false, true]");
    fs::write(place.of_run("r", "suite.toml"), forged).unwrap();
    place.ludex(&["verify", "ludex-data/runs/r"]).fails();
}

#[test]
fn part_for_two_candidates_requires_two_agents() {
    let place = place();
    let plain =
        ["evaluate", "--suite", "fields.toml", "--agent", "random", "--role", "reference=solver", "--part", "cup"];
    let line = [&plain[..], &["--part", "itself"]].concat();
    let why = "cup: needs 2 candidates, but the run has 1; the part is not played";
    let estimate = place.ludex(&[&line[..], &["--estimate"]].concat());
    assert!(estimate.well().contains(why) && !estimate.out.contains("681"), "{}", estimate.out);
    let parts = place.ludex(&[&line[..], &["--estimate", "--json"]].concat()).json()["parts"].clone();
    assert_eq!((&parts[1]["points"], parts[0]["points"].is_number()), (&Value::Null, true), "{parts}");
    let ran = place.ludex(&[&line[..], &["--run", "one"]].concat());
    assert!(ran.well().contains(why) && !ran.out.contains("0-0-0"), "{}", ran.out);
    assert!(ran.err.contains(&format!("ludex: {why}")), "expected the note before the run: {}", ran.err);
    assert!(fs::read_to_string(place.of_run("one", "report.html")).unwrap().contains(why));
    let status = place.ludex(&["status", "one"]);
    assert!(status.well().contains(why), "{}", status.out);
    let json = place.ludex(&[&line[..], &["--run", "one", "--json"]].concat()).json();
    let parts = json["parts"].as_array().unwrap();
    let cup = parts.iter().find(|part| part["part"] == "cup").unwrap();
    assert_eq!(cup["note"], "needs 2 candidates, but the run has 1; the part is not played");
    // If no matches are due, no run is created.
    let none = place.ludex(&[&plain[..], &["--run", "none"]].concat());
    assert!(none.fails().contains("for at least one part; cup: needs 2 candidates"), "{}", none.err);
    assert!(!place.of_run("none", "").exists());
}

#[test]
fn suite_agents_are_validated_before_start() {
    let place = place();
    for (from, to, why) in [
        (
            "rules = \"short\"",
            "rules = \"shorts\"",
            "llm of variant \"brief\": rules=shorts is not accepted; allowed: long, short",
        ),
        (
            "blocks = 3\n",
            "blocks = 3\nllm = { promting = \"cot\" }\n",
            "llm of part \"itself\": there is no argument of llm",
        ),
        (
            "seed = 5\n",
            "seed = 5\nllm = { prompting = \"coot\" }\n",
            "llm of the suite: prompting=coot is not accepted; allowed: ",
        ),
        (
            "order = \"shuffled\"\n",
            "order = \"shuffled\"\n[[part.variant]]\nname = \"v\"\nllm = { rulez = 1 }\n",
            "llm of variant \"v\" in part \"cup\": ",
        ),
        ("\"random\", \"@ref", "\"stockfsh\", \"@ref", "stockfsh in part nim: "),
        ("\"random\", \"@ref", "\"anchor level=9\", \"@ref", "anchor level=9 in part nim: "),
    ] {
        assert!(SUITE.contains(from), "{from}");
        fs::write(place.path("wrong.toml"), SUITE.replacen(from, to, 1)).unwrap();
        let told = place.ludex(&["suites", "wrong.toml", "--candidates", "2"]);
        assert!(told.fails().contains(why), "{to}: {}", told.err);
        let agents = ["--agent", "random", "--agent", "solver", "--role", "reference=anchor level=1", "--run", "r"];
        let told = place.ludex(&[&["evaluate", "--suite", "wrong.toml"], &agents[..]].concat());
        assert!(told.fails().contains(why), "{to}: {}", told.err);
    }
    // A suite may set arguments that only some language models accept or that require other arguments.
    for llm in ["cache = true", "price_cached = 1", "template = \"user\"", "effort = \"high\"", "api = \"anthropic\""] {
        fs::write(place.path("good.toml"), SUITE.replacen("seed = 5\n", &format!("seed = 5\nllm = {{ {llm} }}\n"), 1))
            .unwrap();
        place.ludex(&["suites", "good.toml"]).well();
    }
}

#[test]
fn suites_are_listed_and_explained() {
    let place = place();
    let list = place.ludex(&["suites"]);
    assert!(["quick", "absolute", "reference"].iter().all(|name| list.well().contains(name)), "{}", list.out);
    let qitown = list.out.lines().find(|line| line.contains("qitown")).unwrap();
    assert_eq!(qitown.split_whitespace().nth(3), Some("-"), "candidates only meet each other: {qitown}");
    let json = place.ludex(&["suites", "--json"]).json();
    assert_eq!((&json["suites"][0]["suite"], &json["suites"][0]["matches"]), (&"quick".into(), &144.into()));
    let one = place.ludex(&["suites", "fields.toml", "--candidates", "2"]);
    for text in [
        "at most 79 matches of 2 candidates",
        "nim: sweeps nim(",
        "itself: candidates among the opponents also play themselves",
        "cup: seats drawn; order shuffled; 3 cycles",
        "role reference: 1 agent: open: --role reference=AGENT",
        "variants: plain in nim, brief (rules=short) in nim",
        "summary share: percent of best of score_rate over the parts",
        "policy: ",
        "illegal forfeit",
    ] {
        assert!(one.well().contains(text), "{text}: {}", one.out);
    }
    let json = place.ludex(&["suites", "fields.toml", "--role", "reference=solver", "--json"]).json();
    assert_eq!((&json["roles"][0]["name"], &json["open_roles"]), (&"reference".into(), &Value::Array(Vec::new())));
    assert_eq!(json["parts"][2]["note"], "needs 2 candidates, but the run has 1; the part is not played");
    assert_eq!(json["parts"][0]["games"].as_array().unwrap().len(), 2);
    let all = place.ludex(&["suites", "reference"]);
    assert!(all.well().contains("role reference: 1 agent: anchor level=1"), "{}", all.out);
    assert!(place.ludex(&["suites", "absolut"]).fails().contains("did you mean absolute?"));
}
