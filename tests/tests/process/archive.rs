//! Commands for finished runs: transcripts, comparisons, exports, bundles, and verification.

mod bundle;
mod compare;
mod export;
mod forged;
mod plan;
mod transcript;

use std::path::Path;
use std::process::Command;

use ludex_protocol::record::RecordParts;
use ludex_tests::run::Run;
use serde_json::Value;

/// Exit code and output of a command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// Returns the standard output of a command that must succeed.
    #[track_caller]
    fn well(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// Returns the standard output as a JSON document.
    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.well()).expect("JSON")
    }

    /// Returns the standard error of a command that must fail.
    #[track_caller]
    fn fails(self) -> String {
        assert_eq!(self.code, 1, "{}{}", self.out, self.err);
        self.err
    }
}

/// Runs `ludex` in `folder`.
fn ludex(folder: &Path, args: &[&str]) -> Ran {
    let done =
        Command::new(env!("CARGO_BIN_EXE_ludex-tests")).args(args).current_dir(folder).output().expect("the program");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
}

const PARTS: &[(&str, &str, &str)] = &[("ttt", "tic_tac_toe", "random"), ("kuhn", "kuhn_poker", "anchor level=1")];

/// Creates a data folder with a run named `one` in `ludex-data`.
fn one() -> tempfile::TempDir {
    let at = tempfile::tempdir().expect("a temporary folder");
    write(at.path(), "one", "model-a", "random");
    at
}

fn write(at: &Path, name: &str, model: &str, plays: &str) {
    Run { name, models: &[(model, plays)], parts: PARTS, seeds: 3 }.write(&at.join("ludex-data"));
}

/// Returns a copy of a record whose match was ended by an infrastructure failure.
fn failed(line: &str) -> String {
    let mut parts = RecordParts::parse(line).expect("a record");
    parts.footer["reason"] = "infra_error".into();
    parts.footer["outcome"] = serde_json::json!(["none", "none"]);
    parts.footer["digest"] = ludex_referee::digest::digest(&parts).expect("a digest").into();
    let mut all = parts.header;
    all.insert("events".to_owned(), parts.events.into());
    all.extend(parts.footer);
    Value::Object(all).to_string() + "\n"
}

/// Edits the text of a file of run `one`.
fn change(at: &Path, file: &str, with: impl FnOnce(String) -> String) {
    let path = at.join("ludex-data/runs/one").join(file);
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, with(text)).expect("a file");
}
