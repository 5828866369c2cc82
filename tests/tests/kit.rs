//! The protocol kit, against clients and servers that are right and against such as make one mistake each.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");
const BOT: &str = env!("CARGO_BIN_EXE_bot");

/// Runs `ludex` with these words; its exit code, what it printed, and what it complained about.
async fn ludex(words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.expect("the program");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn check(words: &[&str]) -> (Option<i32>, String) {
    let (code, out, err) = ludex(&[&["check-client"], words].concat()).await;
    (code, out + &err)
}

/// A client that does everything right passes everything.
async fn passes(command: &[&str]) {
    let (code, out) = check(&[&["--"], command].concat()).await;
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(out.lines().count(), 14, "{out}");
    assert!(out.lines().all(|line| line.starts_with("ok section ")), "{out}");
}

#[tokio::test]
async fn a_right_client_passes() {
    passes(&[BOT, "right", "{url}"]).await;
}

#[tokio::test]
async fn the_rust_client_passes() {
    let words = ["join", "{url}", "--game", "tic_tac_toe", "--agent", "random", "--against", "random", "--reclaim"];
    passes(&[&[PROGRAM], &words[..]].concat()).await;
}

/// The mistake, the level at which it shows, and a part of the line that names it.
const MISTAKES: [(&str, &str, &str); 14] = [
    ("ignores_try", "bot", "FAULT section 5: acts again when refused: acted twice for turn 1, try 0"),
    ("stops_when_refused", "bot", "FAULT section 5: acts again when refused: was silent"),
    ("acts_twice", "bot", "FAULT section 5: plays a match: acted twice for turn 0, try 0: in request"),
    ("no_token", "bot", "FAULT section 2: shows its token: showed no token"),
    ("strict", "bot", "FAULT section 1: passes over what it does not know: ended (exit status: 1: this is not known)"),
    ("plays_nonsense", "bot", "FAULT section 5: plays a match: was refused to the end, at last 99"),
    ("bad_field", "bot", "FAULT section 1: plays a match: sent {"),
    ("same_id", "bot", "sent another message under the id of request 10"),
    ("bad_exit", "bot", "FAULT section 5: plays a match: ended (exit status: 1) after its match"),
    ("no_resume", "resumable", "FAULT section 7: goes on after a resync: came back without `resume`"),
    (
        "gives_up",
        "resumable",
        "FAULT section 7: sends a lost act again: ended (exit status: 1: the connection is lost)",
    ),
    ("sees_too_much", "resumable", "claimed to have seen seq"),
    ("forgets_requests", "resumable", "FAULT section 7: sends a lost act again: was silent"),
    (
        "moves_again",
        "resumable",
        "FAULT section 7: sends a lost act again: sent request 14 (`act`) but not request 13 (`act`) again",
    ),
];

#[tokio::test]
async fn every_mistake_is_named() {
    for (mistake, level, line) in MISTAKES {
        let (code, out) = check(&["--level", level, "--patience", "2", "--", BOT, mistake, "{url}"]).await;
        assert!(out.contains(line), "{mistake}:\n{out}");
        assert_eq!(code, Some(1), "{mistake}:\n{out}");
    }
}

#[tokio::test]
async fn one_document_for_programs_and_2_for_no_program() {
    let (code, out, _) = ludex(&["check-client", "--level", "bot", "--json", "--", BOT, "no_token"]).await;
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(code, Some(1));
    assert_eq!(document["faults"], 1);
    assert_eq!(document["checks"][1]["fault"]["section"], 2);
    assert_eq!(document["checks"][0].get("fault"), None);

    let (code, out, err) = ludex(&["check-client", "--", "/no/such/program"]).await;
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("cannot be started"), "{err}");
}

/// Where a tool is missing, its example is not checked, and the output says so.
fn has(tool: &str) -> bool {
    let found = std::process::Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("SKIPPED: there is no {tool} here");
    }
    found
}

#[tokio::test]
async fn the_example_in_javascript_passes() {
    if has("node") {
        passes(&["node", concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/javascript/bot.mjs"), "{url}"])
            .await;
    }
}

#[tokio::test]
async fn the_example_in_java_passes() {
    if has("java") {
        passes(&["java", concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/java/Bot.java"), "{url}"]).await;
    }
}
