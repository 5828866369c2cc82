//! Forged bundles: a run of a language model is bundled, edited and packed again with new checksums. `verify` must find
//! each edit.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ludex_play::runs::audit::{Audit, audit};
use ludex_play::runs::bundle::write;
use ludex_play::runs::report_files;
use ludex_protocol::record::RecordParts;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{self, Files};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{change, ludex, one};

const SUITE: &str = r#"
name = "small"
version = 1
title = "Small"
[[part]]
id = "ttt"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 3
[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["anchor level=1"]
blocks = 2
"#;

/// Process of the LLM stub; dropping this value kills the process.
struct Stub(Child);

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Evaluates the LLM stub in `folder` and returns the files of the exported bundle.
fn bundled(folder: &Path, more: &[&str]) -> Files {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ludex-tests"));
    let stub = command.args(["check", "llm-stub", "--json", "--agent", "random", "--prose", "0.1"]);
    let mut stub = Stub(stub.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(stub.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url: Value = serde_json::from_str(&line).unwrap();
    std::fs::write(folder.join("small.toml"), SUITE).unwrap();
    let spec = format!("llm model=m base_url={} stub=true price_in=1 price_out=2", url["url"].as_str().unwrap());
    ludex(folder, &[&["evaluate", "--agent", &spec, "--suite", "small.toml", "--run", "r"], more].concat()).well();
    ludex(folder, &["export", "r", "--bundle", "r.tar.gz"]).well();
    bundle::read(&folder.join("r.tar.gz")).unwrap()
}

/// Returns the result of `verify` on these files.
fn verdict(files: &Files) -> Audit {
    let place = Path::new("b");
    let mut audit = match Archive::of_files(place, files.clone()) {
        Ok(run) => audit(&run, files, || {}),
        Err(e) => {
            let source = ludex_referee::read::Source { file: "b".into(), line: 0 };
            let refused = ludex_referee::read::RejectedRecord { source, episode: None, message: e.to_string() };
            Audit { refused: vec![refused], ..Audit::default() }
        }
    };
    audit.refused.extend(bundle::check(place, files));
    audit
}

fn text(files: &Files, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

fn put(files: &mut Files, name: &str, text: String) {
    files.insert(name.to_owned(), text.into_bytes());
}

/// Edits a JSON file.
fn document(files: &mut Files, name: &str, with: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_str(&text(files, name)).unwrap();
    with(&mut value);
    put(files, name, format!("{value:#}\n"));
}

/// Edits the list of lines of a file.
fn lines(files: &mut Files, name: &str, with: impl FnOnce(&mut Vec<String>)) {
    let mut all: Vec<String> = text(files, name).lines().map(str::to_owned).collect();
    with(&mut all);
    put(files, name, all.into_iter().map(|line| line + "\n").collect());
}

/// Edits line `k` of a file as JSON. If the line is a record, its digest is recomputed.
fn line(files: &mut Files, name: &str, k: usize, with: impl FnOnce(&mut Value)) {
    lines(files, name, |all| {
        let mut value: Value = serde_json::from_str(&all[k]).unwrap();
        with(&mut value);
        all[k] = if name == "episodes.jsonl" { sealed(value) } else { value.to_string() };
    });
}

fn sealed(mut record: Value) -> String {
    let parts = RecordParts::parse(&record.to_string()).unwrap();
    record["digest"] = ludex_referee::digest::digest(&parts).unwrap().into();
    record.to_string()
}

/// Returns the first event of a record that a model decided.
fn answered(record: &mut Value) -> &mut Value {
    record["events"].as_array_mut().unwrap().iter_mut().find(|e| e["notes"]["calls_sha256"].is_string()).unwrap()
}

/// Recomputes the checksums, as a forger would.
fn summed(files: &mut Files) {
    files.remove("SHA256SUMS");
    let sum = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
    let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sum(bytes))).collect();
    put(files, "SHA256SUMS", sums);
}

type Change = (&'static str, fn(&mut Files));

const EPISODES: &str = "episodes.jsonl";
const CALLS: &str = "calls.jsonl";

/// Changes that `verify` must find.
const CHANGES: &[Change] = &[
    // Settings.
    ("half the scale", |f| document(f, "run.json", |v| v["scale"] = json!(0.5))),
    ("twice the scale", |f| document(f, "run.json", |v| v["scale"] = json!(2.0))),
    ("other seeds", |f| document(f, "run.json", |v| v["seeds"] = json!({"open": 1}))),
    ("other deals", |f| document(f, "run.json", |v| v["deals"] = json!("once"))),
    ("a shard", |f| document(f, "run.json", |v| v["shard"] = json!("1/2"))),
    ("the suite's digest", |f| document(f, "run.json", |v| v["suite"]["digest"] = json!("00"))),
    ("the suite's name", |f| document(f, "run.json", |v| v["suite"]["name"] = json!("quick"))),
    ("the suite's version", |f| document(f, "run.json", |v| v["suite"]["version"] = json!(2))),
    ("another model", |f| put(f, "run.json", text(f, "run.json").replace("model=m ", "model=gpt-9 "))),
    ("another name", |f| document(f, "run.json", |v| v["agents"][0]["name"] = json!("better"))),
    ("another price", |f| put(f, "run.json", text(f, "run.json").replace("price_in=1", "price_in=9"))),
    ("no candidate", |f| document(f, "run.json", |v| v["agents"][0]["candidate"] = json!(false))),
    ("other rules", |f| document(f, "run.json", |v| v["games"]["tic_tac_toe"] = json!("0123"))),
    ("other prompts", |f| {
        document(f, "run.json", |v| v["prompts"].as_object_mut().unwrap().values_mut().for_each(|d| *d = json!("00")))
    }),
    ("other wording", |f| document(f, "run.json", |v| drop(v.as_object_mut().unwrap().remove("wording")))),
    ("no prompts", |f| document(f, "run.json", |v| v["prompts"] = json!({}))),
    ("calls not bound", |f| document(f, "run.json", |v| drop(v.as_object_mut().unwrap().remove("calls_bound")))),
    ("another program", |f| document(f, "run.json", |v| v["ludex"] = json!("ludex/9.0.0"))),
    ("another run", |f| document(f, "run.json", |v| v["run"] = json!("other"))),
    ("a tournament", |f| document(f, "run.json", |v| v["kind"] = json!("tournament"))),
    // The suite.
    ("more blocks", |f| put(f, "suite.toml", text(f, "suite.toml").replace("blocks = 3", "blocks = 9"))),
    ("another opponent", |f| put(f, "suite.toml", text(f, "suite.toml").replace("\"random\"", "\"alphabeta\""))),
    ("a comment", |f| put(f, "suite.toml", text(f, "suite.toml") + "# fine\n")),
    ("fewer tries", |f| put(f, "suite.toml", text(f, "suite.toml") + "[part.policy]\ntries = 1\n")),
    ("no suite", |f| drop(f.remove("suite.toml"))),
    // Records.
    ("the first pair lost", |f| lines(f, EPISODES, |all| all.retain(|l| !l.contains("\"r.ttt.0-1.0.")))),
    ("the last pair lost", |f| lines(f, EPISODES, |all| all.retain(|l| !l.contains("\"r.kuhn.0-2.1.")))),
    ("one match lost", |f| lines(f, EPISODES, |all| drop(all.remove(2)))),
    ("half of it lost", |f| lines(f, EPISODES, |all| all.truncate(5))),
    ("a lost pair with its calls", |f| {
        for name in [EPISODES, CALLS] {
            lines(f, name, |all| all.retain(|l| !l.contains("\"r.ttt.0-1.1.")));
        }
    }),
    ("a match twice", |f| lines(f, EPISODES, |all| all.push(all[0].clone()))),
    ("the other wins", |f| {
        let decided = text(f, EPISODES).lines().position(|l| l.contains("\"win\"")).unwrap();
        line(f, EPISODES, decided, |v| v["outcome"].as_array_mut().unwrap().reverse());
    }),
    ("other returns", |f| line(f, EPISODES, 0, |v| v["returns"] = json!([0.5, -0.5]))),
    ("another reason", |f| line(f, EPISODES, 0, |v| v["reason"] = json!("aborted"))),
    ("tokens in a note", |f| line(f, EPISODES, 0, |v| answered(v)["notes"]["tokens"]["in"] = json!(1))),
    ("price in a note", |f| line(f, EPISODES, 0, |v| answered(v)["notes"]["usd"] = json!(0.0))),
    ("verdict in a note", |f| line(f, EPISODES, 0, |v| answered(v)["notes"]["verdict"] = json!("illegal"))),
    ("calls in a note", |f| line(f, EPISODES, 0, |v| answered(v)["notes"]["calls"] = json!(2))),
    ("digest in a note", |f| line(f, EPISODES, 0, |v| answered(v)["notes"]["calls_sha256"] = json!("00"))),
    ("no digest in a note", |f| {
        line(f, EPISODES, 0, |v| drop(answered(v)["notes"].as_object_mut().unwrap().remove("calls_sha256")))
    }),
    ("another player", |f| line(f, EPISODES, 0, |v| v["seats"][0]["name"] = json!("better"))),
    ("another pair", |f| line(f, EPISODES, 0, |v| v["pair"] = json!("r.ttt.0-1.9"))),
    ("another seed", |f| line(f, EPISODES, 0, |v| v["seed"] = json!("7"))),
    ("another time, and no new digest", |f| {
        lines(f, EPISODES, |all| all[0] = all[0].replacen("\"started\":\"20", "\"started\":\"19", 1))
    }),
    // Calls.
    ("no calls", |f| drop(f.remove(CALLS))),
    ("a call lost", |f| lines(f, CALLS, |all| drop(all.remove(1)))),
    ("the last call lost", |f| lines(f, CALLS, |all| drop(all.pop()))),
    ("a call twice", |f| lines(f, CALLS, |all| all.push(all[0].clone()))),
    ("the text of an answer", |f| {
        line(f, CALLS, 0, |v| v["call"]["answer"] = format!("{} ", v["call"]["answer"].as_str().unwrap()).into())
    }),
    ("the move in an answer", |f| line(f, CALLS, 0, |v| v["call"]["answer"] = json!("{\"move\":\"resign\"}"))),
    ("the move read", |f| line(f, CALLS, 0, |v| v["call"]["read"] = json!("x(9,9)"))),
    ("a hint in a prompt", |f| {
        line(f, CALLS, 0, |v| {
            let said = v["call"]["messages"][1]["content"].as_str().unwrap().to_owned();
            v["call"]["messages"][1]["content"] = format!("{said}\nHint: the centre.").into();
        })
    }),
    ("tokens of a call", |f| line(f, CALLS, 0, |v| v["call"]["tokens"]["out"] = json!(1))),
    ("price of a call", |f| line(f, CALLS, 0, |v| v["call"]["usd"] = json!(0.5))),
    ("verdict of a call", |f| line(f, CALLS, 0, |v| v["call"]["verdict"] = json!("illegal"))),
    ("time of a call", |f| line(f, CALLS, 0, |v| v["call"]["ms"] = json!(123_456))),
    ("model of a call", |f| line(f, CALLS, 0, |v| v["call"]["model"] = json!("gpt-9"))),
    ("thoughts of a call", |f| line(f, CALLS, 0, |v| v["call"]["reasoning"] = json!("I am sure."))),
    ("seat of a call", |f| line(f, CALLS, 0, |v| v["seat"] = json!(1 - v["seat"].as_u64().unwrap()))),
    // Pages and log.
    ("another rating in the report", |f| {
        document(f, "report.json", |v| v["scales"][0]["agents"][0]["rating"] = json!(2500.0))
    }),
    ("another page", |f| put(f, "report.html", text(f, "report.html").replacen("Rating", "rating", 1))),
    ("another card", |f| put(f, "CARD.md", text(f, "CARD.md") + "Best model.\n")),
    ("a file more", |f| put(f, "leaderboard.csv", "m,2500\n".to_owned())),
];

#[test]
fn forged_files_with_new_checksums_are_found() {
    let at = tempfile::tempdir().unwrap();
    let files = bundled(at.path(), &[]);
    let whole = verdict(&files);
    assert!(whole.refused.is_empty() && whole.completeness.complete, "{:?} {:?}", whole.refused, whole.completeness);
    assert_eq!((whole.good, whole.completeness.planned), (10, 10));
    assert!(whole.notes.is_empty(), "{:?}", whole.notes);
    assert_eq!(CHANGES.len(), 63);
    let missed = CHANGES.iter().filter(|(_, change)| {
        let mut forged = files.clone();
        change(&mut forged);
        summed(&mut forged);
        assert_ne!(forged, files);
        let found = verdict(&forged);
        found.refused.is_empty() || found.completeness.complete
    });
    assert_eq!(missed.map(|(name, _)| *name).collect::<Vec<_>>(), [""; 0]);
}

/// Checks that data which cannot be recomputed is protected by digests, and that forged digests are found by the
/// signature.
#[test]
fn signature_binds_data_that_cannot_be_recomputed() {
    let at = tempfile::tempdir().unwrap();
    let mut files = bundled(at.path(), &[]);
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let public =
        format!("untrusted comment: a key\n{}\n", STANDARD.encode([b"Ed12345678", key.public_key().as_ref()].concat()));
    std::fs::write(at.path().join("key.pub"), public).unwrap();
    let check = |what: &str| ludex(at.path(), &["verify", what, "--public-key", "key.pub"]);
    assert!(check("r.tar.gz").fails().contains("the bundle is not signed"));
    // The signature has the form of minisign: one signature of the file, and one of that signature with the comment.
    let own = key.sign(&std::fs::read(at.path().join("r.tar.gz")).unwrap());
    let both = key.sign(&[own.as_ref(), b"by me"].concat());
    let lines = [STANDARD.encode([b"Ed12345678", own.as_ref()].concat()), STANDARD.encode(both.as_ref())];
    let signature = format!("untrusted comment: a signature\n{}\ntrusted comment: by me\n{}\n", lines[0], lines[1]);
    std::fs::write(at.path().join("r.tar.gz.minisig"), signature).unwrap();
    let told = check("r.tar.gz").well();
    assert!(told.contains("signed: by me\n") && told.ends_with("complete: all 10 matches of the plan\n"), "{told}");

    // Forges reasoning, with new digests of the calls and of the record, and new checksums.
    line(&mut files, CALLS, 0, |v| v["call"]["reasoning"] = json!("I am sure."));
    let call: Value = serde_json::from_str(text(&files, CALLS).lines().next().unwrap()).unwrap();
    let digest = Sha256::digest(ludex_env::recording::canonical(&call["call"]).unwrap());
    let record = text(&files, EPISODES).lines().position(|l| l.contains(&*call["episode"].to_string())).unwrap();
    let answer = |e: &&mut Value| e["turn"] == 0 && e["seat"] == call["seat"];
    line(&mut files, EPISODES, record, |v| {
        let event = v["events"].as_array_mut().unwrap().iter_mut().find(answer).unwrap();
        let tried = event["tries"].as_array().is_some_and(|tries| !tries.is_empty());
        let notes = if tried { &mut event["tries"][0]["notes"] } else { &mut event["notes"] };
        notes["calls_sha256"] = hex::encode(&digest[..16]).into();
    });
    let run = Archive::of_files(Path::new("b"), files.clone()).unwrap();
    files.extend(report_files::pages(&run).0);
    summed(&mut files);
    let own = write(&run.about, &files, report_files::pages(&run).0).unwrap();
    std::fs::write(at.path().join("r.tar.gz"), own).unwrap();
    ludex(at.path(), &["verify", "r.tar.gz"]).well();
    assert!(check("r.tar.gz").fails().contains("is not the signature of r.tar.gz"));
}

#[test]
fn only_finished_run_is_reported_complete() {
    let at = tempfile::tempdir().unwrap();
    bundled(at.path(), &["--budget", "games=5", "--jobs", "1"]);
    let told = ludex(at.path(), &["verify", "r"]).well();
    assert!(
        told.contains("NOT COMPLETE: 4 of 10 matches are missing: stopped, the budget of 5 matches is used up (5)"),
        "{told}"
    );
    let json = ludex(at.path(), &["verify", "r", "--json"]).json();
    assert_eq!((&json["complete"]["complete"], &json["complete"]["state"]), (&json!(false), &json!("stopped")));
    assert_eq!(json["complete"]["missing"].as_array().unwrap().len(), 4);
    assert!(!told.contains("complete: all"), "{told}");

    // A run that claims to be done but is not.
    let at = one();
    change(at.path(), EPISODES, |text| text.lines().skip(1).map(|line| format!("{line}\n")).collect());
    let ran = ludex(at.path(), &["verify", "one"]);
    let lost = "one.ttt.0-1.0: missing matches: 1, although the log says that the run is done";
    assert!(ran.code == 1 && ran.out.contains(lost), "{}", ran.out);
    // A match that was ended twice by infrastructure failures is reported, and the run is incomplete.
    let at = one();
    change(at.path(), EPISODES, |text| {
        let mut all: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        let first = super::failed(&all[0]);
        all[0] = first.clone();
        let again = first.replace("one.ttt.0-1.0.0\"", "one.ttt.0-1.0.0.re\"");
        all.push(sealed(serde_json::from_str(&again).unwrap()) + "\n");
        all.concat()
    });
    let json = ludex(at.path(), &["verify", "one", "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["complete"]["discarded"], json!(["one.ttt.0-1.0.0"]), "{json}");
    assert_eq!(json["complete"]["complete"], json!(false));
}
