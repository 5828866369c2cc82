//! Labels of decisions by judges, a person and a file: continued after failures, exported, compared and reported.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::models::Stub;
use super::{Place, Ran};

const SUITE: &str = r#"
name = "labeled"
version = 1
title = "Labeled"

[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random"]
blocks = 4

[[rubric]]
id = "errors"
title = "Errors"
question = "Which errors does the reply contain?"
several = true
[[rubric.value]]
id = "sum"
about = "A sum is wrong."
[[rubric.value]]
id = "rule"
about = "A rule is wrong."

[[rubric]]
id = "style"
title = "Style"
question = "How is the reply written?"
[[rubric.value]]
id = "short"
about = "Briefly."
[[rubric.value]]
id = "long"
about = "At length."

[[figure]]
id = "errors"
title = "Errors"
kind = "table"
cell = [{ metric = "labels", rubric = "errors", is = "sum", title = "sum" }, { metric = "labels", rubric = "errors", is = "any", among = "all", title = "any" }]
"#;

/// Plays the suite with a stub as the model, and returns the stub.
fn played(place: &Place, more: &[&str]) -> Stub {
    fs::write(place.path("labeled.toml"), SUITE).unwrap();
    let stub = Stub::start(place, &["--agent", "random"]);
    let model = stub.model("m", "");
    place
        .ludex(&[&["evaluate", "--agent", &model, "--suite", "labeled.toml", "--run", "r", "--json"], more].concat())
        .json();
    stub
}

/// Runs `ludex label r` with these arguments.
fn label(place: &Place, more: &[&str]) -> Ran {
    place.ludex(&[&["label", "r"], more].concat())
}

fn judge(url: &str, name: &str, more: &str) -> String {
    format!("llm model={name} base_url={url} {more}").trim_end().to_owned()
}

fn stored(place: &Place, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.of_run(run, "labels.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn decision(line: &Value) -> String {
    format!("{} {} {}", line["episode"], line["seat"], line["turn"])
}

fn append(place: &Place, text: &str) {
    let mut file = OpenOptions::new().append(true).open(place.of_run("r", "labels.jsonl")).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn figure(place: &Place) -> Value {
    let report: Value = serde_json::from_str(&fs::read_to_string(place.of_run("r", "report.json")).unwrap()).unwrap();
    report["figures"].as_array().unwrap().iter().find(|figure| figure["id"] == "errors").unwrap().clone()
}

#[test]
fn labels_of_two_judges_reach_tables_and_report() {
    let place = Place::new();
    let stub = played(&place, &[]);
    let none = figure(&place)["caption"].as_str().unwrap().to_owned();
    assert!(none.contains("No labels; `ludex label r --rubric errors` adds them."), "{none}");
    let sample = ["--rubric", "errors", "--sample", "20", "--seed", "3", "--json", "--jobs", "1"];

    // An endpoint that fails and a line that a killed process left: the same command continues, without a second label.
    let failing = Stub::start(&place, &["--down-after", "5"]);
    let first = judge(&failing.url, "judge-a", "retries=0");
    let err = label(&place, &[&["--judge", &first][..], &sample].concat()).fails().to_owned();
    assert!(err.contains("repeat the command to continue"), "{err}");
    assert_eq!(stored(&place, "r").len(), 5);
    append(&place, "{\"episode\": \"r.nim");
    let a = judge(&stub.url, "judge-a", "price_in=1 price_out=4");
    let ran = label(&place, &[&["--judge", &a][..], &sample].concat()).json();
    assert_eq!((&ran["labeled"], &ran["left"], &ran["sampled"]), (&json!(15), &json!(0), &json!(20)));
    assert_eq!(ran["usage"]["calls"], 15);
    assert!(ran["usage"]["usd"].as_f64().unwrap() > 0.0, "{ran}");
    assert_eq!(label(&place, &[&["--judge", &a][..], &sample].concat()).json()["labeled"], 0);
    let b = judge(&stub.url, "judge-b", "format=text");
    assert_eq!(label(&place, &[&["--judge", &b][..], &sample].concat()).json()["labeled"], 20);

    let lines = stored(&place, "r");
    assert_eq!(lines.len(), 40);
    let of = |by: &str| lines.iter().filter(|line| line["by"] == by).map(decision).collect::<BTreeSet<_>>();
    assert_eq!((of("judge:judge-a").len(), of("judge:judge-a")), (20, of("judge:judge-b")));

    let agreement = label(&place, &["--agreement", "--rubric", "errors", "--json"]).json();
    let pairs = agreement["pairs"].as_array().unwrap();
    assert!(pairs.len() == 2 && pairs.iter().all(|pair| pair["decisions"] == 20), "{agreement}");
    let printed = label(&place, &["--agreement", "--rubric", "errors"]);
    assert!(printed.well().contains("judge:judge-a - judge:judge-b"), "{}", printed.out);

    let table = place.ludex(&["export", "r", "--table", "labels"]).well().to_owned();
    let rows: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |line: &Value| line["labels"].as_array().unwrap().len().max(1);
    assert_eq!(rows.len(), lines.iter().map(count).sum::<usize>());
    assert!(rows.iter().all(|row| row["part"] == "nim" && row["rubric"] == "errors" && row["opponent"] == "random"));

    let figure = figure(&place);
    let caption = figure["caption"].as_str().unwrap();
    assert!(
        caption.contains("Labels of 20 decisions by judge:judge-a, judge:judge-b. Krippendorff's alpha: "),
        "{caption}"
    );
    let any = &figure["pages"][0]["data"]["cells"][0][1];
    assert_eq!(any["n"], 20, "{figure}");
    let rated = |run: &str| {
        let args = ["--metric-arg", "rubric=errors", "--metric-arg", "is=any", "--metric-arg", "among=all", "--json"];
        place.ludex(&[&["rate", run, "--metric", "labels"][..], &args].concat()).json()["values"][0]["value"].clone()
    };
    assert_eq!(&rated("r"), any);

    place.ludex(&["export", "r", "--bundle", "r.tar.gz"]).well();
    assert!(place.ludex(&["verify", "r.tar.gz"]).well().contains("complete"));
    assert_eq!(&rated("r.tar.gz"), any);
    assert!(
        label(&place, &["--agreement"])
            .fails()
            .contains("--rubric: expected a rubric, got none; allowed: errors, style")
    );
}

#[test]
fn budget_stops_a_judge() {
    let place = Place::new();
    let stub = played(&place, &[]);
    let line = ["--rubric", "style", "--sample", "10", "--jobs", "1", "--budget", "usd=0.000001", "--json"];
    let free = judge(&stub.url, "a", "");
    assert!(label(&place, &[&["--judge", &free][..], &line].concat()).fails().contains("expected a judge with prices"));
    let paid = judge(&stub.url, "a", "price_in=1 price_out=1");
    let ran = label(&place, &[&["--judge", &paid][..], &line].concat()).json();
    assert_eq!((&ran["labeled"], &ran["left"]), (&json!(1), &json!(9)));
    assert!(label(&place, &["--judge", "random", "--rubric", "style"]).fails().contains("expected a language model"));
}

#[test]
fn person_types_labels_and_continues() {
    let place = Place::new();
    drop(played(&place, &[]));
    let typed = |text: &str, sample: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
            .args(["label", "r", "--by", "ann", "--rubric", "errors", "--sample", sample])
            .current_dir(place.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    let said = typed("x\n1 2\ns\n0\nq\n", "6");
    let expected = "expected numbers such as 1 2, 0 for none, s to skip, q to quit, got \"x\"";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("--- reply\n") && said.contains("--- prompt\n"), "{said}");
    assert_eq!(said.matches("--- system prompt\n").count(), 1, "the rules are shown once: {said}");
    assert!(said.contains("2 decisions labeled by person:ann; done: 2 of a sample of 6"), "{said}");
    let labels: Vec<Value> = stored(&place, "r").iter().map(|line| line["labels"].clone()).collect();
    assert_eq!(labels, [json!(["sum", "rule"]), json!([])]);
    // The end of the input ends the batch, and the four other decisions of the sample are left.
    assert!(typed("1\n", "6").contains("done: 3 of a sample of 6"));
    let lines = stored(&place, "r");
    assert_eq!((lines.len(), lines.iter().map(decision).collect::<BTreeSet<_>>().len()), (3, 3));
}

#[test]
fn label_that_cannot_apply_is_an_error() {
    let place = Place::new();
    drop(played(&place, &[]));
    let record: Value =
        serde_json::from_str(fs::read_to_string(place.of_run("r", "episodes.jsonl")).unwrap().lines().next().unwrap())
            .unwrap();
    let seat = record["seats"].as_array().unwrap().iter().position(|seat| seat["kind"] == "llm").unwrap();
    let good = json!({"episode": record["episode"], "seat": seat, "turn": 0, "labels": ["sum"], "by": "person:ben"});
    let with = |name: &str, value: Value| {
        let mut line = good.clone();
        line[name] = value;
        line
    };
    let import = |lines: &[Value]| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(place.path("made.jsonl"), text).unwrap();
        label(&place, &["--rubric", "errors", "--import", "made.jsonl", "--json"])
    };
    for (line, why) in [
        (with("episode", json!("x")), "expected a match that counts, got \"x\""),
        (with("seat", json!(2)), "expected a seat below 2, got 2"),
        (with("turn", json!(99)), "expected a turn below "),
        (with("seat", json!(1 - seat)), "the rubric errors does not select turn 0 of seat "),
        (with("labels", json!(["sun"])), "unknown label \"sun\"; allowed: sum, rule"),
        (with("rubric", json!("style")), "unknown label \"sum\"; allowed: short, long"),
        (with("by", json!("ben")), "by: expected judge:NAME or person:NAME, got \"ben\""),
        (with("at", json!("today")), "at: expected a time in RFC 3339, got \"today\""),
        (with("more", json!(1)), "unknown field `more`"),
        (with("turn", json!(0)), "person:ben labeled this decision before"),
    ] {
        let err = import(&[good.clone(), line]).fails().to_owned();
        assert!(err.contains("made.jsonl: line 2: ") && err.contains(why), "{err}");
    }
    assert_eq!(stored(&place, "r"), Vec::<Value>::new());
    assert_eq!(import(std::slice::from_ref(&good)).json()["imported"], 1);
    assert_eq!(stored(&place, "r")[0]["rubric"], "errors");

    // Lines that were changed by hand are named by every command.
    let mut forged = stored(&place, "r")[0].clone();
    forged["turn"] = 99.into();
    append(&place, &format!("nothing\n{forged}\n"));
    let faults = place.ludex(&["verify", "r"]);
    assert!(
        faults.out.contains("labels.jsonl:2") || faults.err.contains("labels.jsonl:2"),
        "{}{}",
        faults.out,
        faults.err
    );
    assert!(
        faults.out.contains("labels.jsonl:3") || faults.err.contains("labels.jsonl:3"),
        "{}{}",
        faults.out,
        faults.err
    );
    assert!(!faults.ok);
    assert!(import(&[]).fails().contains("labels.jsonl:2"));
}

#[test]
fn labels_of_shards_are_merged() {
    let place = Place::new();
    let stub = played(&place, &["--shard", "1/2"]);
    let model = stub.model("m", "");
    place.ludex(&["evaluate", "--agent", &model, "--suite", "labeled.toml", "--run", "r", "--shard", "2/2"]).well();
    let judge = judge(&stub.url, "j", "");
    for shard in ["r.1-of-2", "r.2-of-2"] {
        place.ludex(&["label", shard, "--judge", &judge, "--rubric", "style", "--sample", "3"]).well();
    }
    place.ludex(&["evaluate", "--merge", "r.1-of-2", "r.2-of-2"]).well();
    let merged = stored(&place, "r");
    let mut own: Vec<Value> = ["r.1-of-2", "r.2-of-2"].iter().flat_map(|shard| stored(&place, shard)).collect();
    assert_eq!(merged.len(), 6);
    own.sort_by_key(decision);
    let mut sorted = merged.clone();
    sorted.sort_by_key(decision);
    assert_eq!(sorted, own);
    assert!(place.ludex(&["verify", "r"]).ok);
}
