use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{change, ludex, one};

fn unpacked(path: &Path) -> BTreeMap<String, Vec<u8>> {
    ludex_report::runs::bundle::read(path).unwrap()
}

/// Packs files into a bundle without any checks, as a forger would.
fn packed(path: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let gzip = flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        tar.append_data(&mut header, format!("any/{name}"), bytes.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

/// Returns the faults that `verify` finds.
fn wrong(at: &Path, what: &str) -> Vec<String> {
    let ran = ludex(at, &["verify", what, "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let verdict: Value = serde_json::from_str(&ran.out).unwrap();
    let refused = verdict["refused"].as_array().unwrap();
    refused
        .iter()
        .map(|r| format!("{}:{}: {}", r["file"].as_str().unwrap(), r["line"], r["message"].as_str().unwrap()))
        .collect()
}

#[test]
fn bundle_verifies_without_other_files() {
    let at = one();
    let folder = ludex(at.path(), &["verify", "one", "--json"]).json();
    assert_eq!((&folder["verified"], &folder["refused"]), (&json!(12), &json!([])));
    assert_eq!((&folder["complete"]["complete"], &folder["complete"]["planned"]), (&json!(true), &json!(12)));
    ludex(at.path(), &["export", "one", "--bundle", "one.tar.gz"]).well();
    ludex(at.path(), &["export", "one", "--bundle", "again.tar.gz"]).well();
    let bytes = |name: &str| std::fs::read(at.path().join(name)).unwrap();
    assert_eq!(bytes("one.tar.gz"), bytes("again.tar.gz"), "equal runs give equal bundles");

    let alone = tempfile::tempdir().unwrap();
    std::fs::write(alone.path().join("b.tar.gz"), bytes("one.tar.gz")).unwrap();
    let packed = ludex(alone.path(), &["verify", "b.tar.gz", "--json"]).json();
    assert_eq!([&packed["verified"], &packed["complete"]], [&folder["verified"], &folder["complete"]]);
    let text = ludex(alone.path(), &["verify", "b.tar.gz"]).well();
    let ends = "12 episodes verified\ncomplete: all 12 matches of the plan\n";
    assert!(text.contains("all checksums of SHA256SUMS match") && text.ends_with(ends), "{text}");
    // Runs of earlier versions did not bind calls to records, and `verify` reports it.
    assert!(text.contains("not bound to the records by digests: the run was created by an older build"), "{text}");
    let files = unpacked(&alone.path().join("b.tar.gz"));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let all = [
        "CARD.md",
        "SHA256SUMS",
        "calls.jsonl",
        "episodes.jsonl",
        "log.jsonl",
        "report.html",
        "report.json",
        "run.json",
        "suite.toml",
    ];
    assert_eq!(names, all);
    let run = at.path().join("ludex-data/runs/one");
    for name in ["run.json", "suite.toml", "episodes.jsonl", "calls.jsonl", "log.jsonl"] {
        assert_eq!(files[name], std::fs::read(run.join(name)).unwrap(), "{name}");
    }
    // The unpacked bundle is a run again. All commands read it packed and unpacked.
    let folder = alone.path().join("unpacked");
    std::fs::create_dir(&folder).unwrap();
    files.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).unwrap());
    let text = ludex(alone.path(), &["verify", "unpacked"]).well();
    assert!(text.contains("all checksums of SHA256SUMS match"), "{text}");
    std::fs::write(folder.join("suite.toml"), "").unwrap();
    let found = wrong(alone.path(), "unpacked");
    assert!(found[0].contains("suite.toml:0: was changed") && found.len() > 1, "{found:?}");
    let told = ludex(alone.path(), &["show", "b.tar.gz"]).well();
    assert_eq!(told, ludex(at.path(), &["show", "one"]).well());
    let report: Value = serde_json::from_slice(&files["report.json"]).unwrap();
    assert_eq!(report["records"], 12);
}

#[test]
fn verify_command_reports_changed_bundle() {
    let at = one();
    ludex(at.path(), &["export", "one", "--bundle", "one.tar.gz"]).well();
    let mut files = unpacked(&at.path().join("one.tar.gz"));
    files.get_mut("suite.toml").unwrap().push(b'#');
    packed(&at.path().join("changed.tar.gz"), &files);
    let found = wrong(at.path(), "changed.tar.gz");
    assert_eq!(found[0], "changed.tar.gz/suite.toml:0: was changed: its checksum differs from SHA256SUMS");
    assert!(found.len() == 2 && found[1].contains("run.json:0: digest of suite.toml: expected"), "{found:?}");
    files.remove("SHA256SUMS");
    packed(&at.path().join("none.tar.gz"), &files);
    assert!(
        ludex(at.path(), &["verify", "none.tar.gz"]).fails().contains("not a complete bundle: SHA256SUMS is missing")
    );
    let whole = std::fs::read(at.path().join("one.tar.gz")).unwrap();
    std::fs::write(at.path().join("half.tar.gz"), &whole[..whole.len() / 2]).unwrap();
    assert!(ludex(at.path(), &["verify", "half.tar.gz"]).fails().contains("half.tar.gz is not a complete bundle"));
}

#[test]
fn bundle_records_must_agree_with_settings() {
    let at = one();
    change(at.path(), "run.json", |text| text.replace("\"open\": 11", "\"open\": 12"));
    let seeds = wrong(at.path(), "one");
    assert_eq!(seeds.len(), 13);
    assert!(seeds[0].contains("seeds: was open (12), is open (11)"), "{seeds:?}");
    assert!(seeds[1..].iter().all(|w| w.contains("from the run's seeds")), "{seeds:?}");
    change(at.path(), "run.json", |text| text.replace("\"open\": 12", "\"open\": 11").replace("model-a", "model-z"));
    let names = wrong(at.path(), "one");
    assert!(names.iter().all(|w| w.contains("expected model-z as planned, got model-a")), "{names:?}");
    change(at.path(), "run.json", |text| text.replace("model-z", "model-a"));
    ludex(at.path(), &["verify", "one"]).well();

    // One match is duplicated, one belongs to another run, and one is forged.
    change(at.path(), "episodes.jsonl", |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.push(lines[0].clone());
        lines[1] = lines[1].replace("\"outcome\":[\"win\",\"loss\"]", "\"outcome\":[\"loss\",\"win\"]");
        lines[2] = lines[2].replace("\"one.ttt.", "\"two.ttt.");
        lines.join("\n") + "\n"
    });
    let found = wrong(at.path(), "one");
    let has = |line: usize, what: &str| {
        found.iter().any(|w| w.contains(&format!("episodes.jsonl:{line}: ")) && w.contains(what))
    };
    assert!(has(13, "duplicate of the record at") && has(13, "duplicate match"), "{found:?}");
    assert!(has(3, "expected the name of a match of one"), "{found:?}");
    assert!(found.iter().any(|w| w.contains("got a call of a match without a record")), "{found:?}");
}

#[test]
fn bundle_calls_must_agree_with_records() {
    let at = one();
    change(at.path(), "calls.jsonl", |text| {
        let first = text.lines().next().unwrap().to_owned();
        let other = first.replace("one.ttt.0-1.0.0", "one.ttt.0-1.9.0");
        let late = first.replace("\"key\":\"0.0.0\"", "\"key\":\"99.0.0\"");
        let seat = first.replace("\"seat\":0", "\"seat\":5");
        format!("{text}{other}\n{late}\n{seat}\n{first}\n")
    });
    let found = wrong(at.path(), "one");
    assert_eq!(found.len(), 4, "{found:?}");
    for said in ["got a call of a match without a record", "got turn 99", "got seat 5", "got a duplicate"] {
        assert!(found.iter().any(|w| w.contains("calls.jsonl:") && w.contains(said)), "{said}: {found:?}");
    }
    // Leftovers of a killed run are allowed: a truncated line, and calls of an unfinished match.
    let fresh = one();
    change(fresh.path(), "log.jsonl", |text| text.lines().next().unwrap().to_owned() + "\n");
    change(fresh.path(), "episodes.jsonl", |text| text[..text.trim_end().rfind('\n').unwrap() + 50].to_owned());
    let verdict = ludex(fresh.path(), &["verify", "one", "--json"]).json();
    assert_eq!((&verdict["verified"], &verdict["unfinished"]), (&json!(11), &json!(["one.kuhn.0-2.2.1"])));
    assert_eq!(verdict["truncated_lines"].as_array().unwrap().len(), 1);
    // The bundle omits the truncated line.
    ludex(fresh.path(), &["export", "one", "--bundle", "b.tar.gz"]).well();
    let verdict = ludex(fresh.path(), &["verify", "b.tar.gz", "--json"]).json();
    assert_eq!((&verdict["verified"], &verdict["truncated_lines"]), (&json!(11), &json!([])));
}

#[test]
fn export_refuses_files_with_keys() {
    let at = one();
    change(at.path(), "calls.jsonl", |text| text.replace("thought 0", "the key is sk-not-a-real-one"));
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ludex-tests"));
        let done =
            command.args(args).env("TEST_LUDEX_KEY", "sk-not-a-real-one").current_dir(at.path()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    for args in
        [&["export", "one", "--bundle", "b.tar.gz"][..], &["export", "one", "--table", "calls", "--out", "c.jsonl"]]
    {
        let (code, err) = run(args);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("$TEST_LUDEX_KEY in") && !err.contains("sk-not"), "{err}");
        assert!(!at.path().join(args.last().unwrap()).exists());
    }
}
