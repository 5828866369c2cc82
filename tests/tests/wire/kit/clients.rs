//! `ludex check client` run on this project's clients, and on a bot that makes mistakes.

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::{PROGRAM, ludex};

const BOT: &str = env!("CARGO_BIN_EXE_bot");

/// Number of mistakes that are checked in parallel. Each check spends nearly all its time waiting.
const AT_ONCE: usize = 5;

async fn check(words: &[&str]) -> (Option<i32>, String) {
    let (code, out, err) = ludex(&[&["check", "client"], words].concat()).await;
    (code, out + &err)
}

/// Time limit in seconds for correct clients, which never reach it, even on a busy machine.
const PATIENCE: &str = "120";

/// Checks that a correct client passes all scripts.
async fn passes(command: &[&str]) {
    passes_all(14, &[&["--"], command].concat()).await;
}

/// Checks that a client which also plays suites passes all scripts.
async fn passes_with_runs(command: &[&str]) {
    passes_all(26, &[&["--level", "runs", "--"], command].concat()).await;
}

async fn passes_all(lines: usize, words: &[&str]) {
    let (code, out) = check(&[&["--timeout", PATIENCE], words].concat()).await;
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(out.lines().count(), lines, "{out}");
    assert!(out.lines().all(|line| line.starts_with("ok section ")), "{out}");
}

/// Checks that a client which also plays several seats passes all scripts.
async fn passes_with_seats(command: &[&str]) {
    passes_all(21, &[&["--level", "seats", "--"], command].concat()).await;
}

#[tokio::test]
async fn correct_bot_passes_client_check() {
    passes_with_runs(&[BOT, "right", "{url}"]).await;
}

/// Command line of `ludex join` in the scripts.
const JOIN: [&str; 9] = [PROGRAM, "join", "{url}", "--game", "tic_tac_toe", "--agent", "random", "--against", "random"];

#[tokio::test]
async fn rust_client_passes_client_check() {
    passes(&[&JOIN[..], &["--reclaim"]].concat()).await;
}

#[tokio::test]
async fn rust_client_follows_its_queue_to_another_cell() {
    passes_all(1, &[&["--level", "cells", "--only", "another cell", "--"], &JOIN[..]].concat()).await;
}

/// Checks that a client which does not know cells is reported.
#[tokio::test]
async fn client_that_stays_in_its_cell_is_reported() {
    let (code, out) = check(&["--level", "cells", "--only", "another cell", "--", BOT, "right", "{url}"]).await;
    assert!(out.contains("FAULT section 7: follows its queue to another cell: "), "{out}");
    assert_eq!(code, Some(1), "{out}");
}

/// Checks the Rust client in the game of the scripts with several seats, with and without `reclaim`.
#[tokio::test]
async fn rust_client_plays_several_seats() {
    let join = [PROGRAM, "join", "{url}", "--game", "undercover(undercover=last)", "--agent", "random", "--against"];
    for against in [&["random"][..], &["random", "--reclaim"]] {
        passes_all(7, &[&["--level", "seats", "--only", "several seats", "--"], &join[..], against].concat()).await;
    }
}

#[tokio::test]
async fn rust_client_plays_runs() {
    let join = [PROGRAM, "join", "{url}", "--suite", "quick", "--run", "check", "--agent", "random"];
    for (only, lines) in [("run", 4), ("enrols again", 1)] {
        passes_all(lines, &[&["--level", "runs", "--only", only, "--"], &join[..]].concat()).await;
    }
}

/// Checks two clients that answer with documents, and two that do not answer as required.
#[tokio::test]
async fn document_scripts_run_only_if_claimed() {
    let join = [PROGRAM, "join", "{url}", "--game", "free_style(rules=F0)", "--against", "random", "--agent"];
    let of = |level: &'static str, command: &[&'static str]| {
        [&["--level", level, "--only", "document", "--timeout", "3", "--"], command].concat()
    };
    for command in [&[BOT, "right", "{url}"][..], &[&join[..], &["random documents=1"]].concat()] {
        let (code, out) = check(&of("documents", command)).await;
        assert_eq!(code, Some(0), "{out}");
        assert_eq!(out.matches("ok section ").count(), 3, "{out}");
    }
    for command in [&[BOT, "ids_only", "{url}"][..], &[&join[..], &["random"]].concat()] {
        let (code, out) = check(&of("documents", command)).await;
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("FAULT section 5: answers with documents: answered turn 0 with "), "{out}");
    }
    let (stops, forgets) = (of("documents", &[BOT, "stops_when_refused"]), of("documents", &[BOT, "forgets_requests"]));
    let ((_, stops), (_, forgets)) = tokio::join!(check(&stops), check(&forgets));
    assert!(stops.contains("FAULT section 5: repairs a document with flaws: was silent"), "{stops}");
    assert!(forgets.contains("FAULT section 7: sends a lost document again: was silent"), "{forgets}");
    // At other levels, the server requests no documents.
    let (code, out) = check(&of("resumable", &[BOT, "right", "{url}"])).await;
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("no check of this level has a name that contains"), "{out}");
}

/// Checks that a client without `reclaim` passes all scripts: after the server forgets the session, it joins again and
/// finishes the new match.
#[tokio::test]
async fn rust_client_passes_client_check_without_reclaiming() {
    passes(&JOIN).await;
}

/// Mistakes of the bot: name, section of the check that finds it, name of that check, start of the reported behavior.
const MISTAKES: [(&str, u32, &str, &str); 26] = [
    ("stubborn", 5, "acts again when refused", "sent the refused move "),
    ("no_mask", 1, "plays a match", "sent a frame without a mask"),
    ("packed_text", 1, "plays a match", "sent a text frame that is not UTF-8 under ludex.v1.msgpack"),
    (
        "packed_field",
        1,
        "plays a match",
        r#"sent {"type":"act","match":5,"note":"café"}, which is answered with `bad_field"#,
    ),
    ("ignores_try", 5, "acts again when refused", "acted twice for seat 0, turn 1, try 0"),
    ("stops_when_refused", 5, "acts again when refused", "was silent"),
    ("acts_twice", 5, "plays a match", "acted twice for seat 0, turn 0, try 0: in request"),
    ("no_token", 2, "sends its token", "sent no token"),
    ("strict", 1, "ignores unknown fields and messages", "exited (exit status: 1: this is not known)"),
    ("plays_nonsense", 5, "plays a match", "was refused at every try, the last time 99"),
    ("bad_field", 1, "plays a match", "sent {"),
    ("same_id", 1, "plays a match", "sent a different message under the id of request 10"),
    ("bad_exit", 5, "plays a match", "exited (exit status: 1) after its match"),
    ("no_resume", 7, "continues after a resync", "reconnected without `resume`"),
    (
        "ignores_resync_turn",
        7,
        "continues after a resync",
        "was silent for 3 s; expected an `act` for seat 0, turn 1, try 0",
    ),
    ("gives_up", 7, "sends a lost act again", "exited (exit status: 1: the connection is lost)"),
    ("sees_too_much", 7, "comes back after a cut at every message", "claimed to have seen seq"),
    ("forgets_requests", 7, "sends a lost act again", "was silent"),
    (
        "enrols_once",
        12,
        "enrols again after a cut at every message",
        "was silent for 3 s; expected `enrol`, as after every `welcome`",
    ),
    ("joins_a_run", 12, "plays a run to its end", "joined a match"),
    ("other_scale", 12, "enrols again after a cut at every message", "enrolled with {"),
    ("names_no_seat", 5, "plays several seats", "acted without `seat`; expected a seat of the client: 0 or 2"),
    ("acts_for_opponent", 5, "plays several seats", "acted for seat 1; expected a seat of the client: 0 or 2"),
    (
        "forgets_seat_of_act",
        5,
        "plays several seats",
        "was silent for 3 s; expected an `act` for seat 2, turn 0, try 0",
    ),
    (
        "takes_player_for_viewer",
        7,
        "resumes several seats after a cut at every message",
        "claimed to have seen seq 6 of seat 2 after the connection was cut (sent move 6 of seat 0)",
    ),
    ("moves_again", 7, "sends a lost act again", "sent request 14 (`act`) but not request 13 (`act`) again"),
];

#[tokio::test]
async fn client_check_reports_every_mistake() {
    let checks = MISTAKES.map(|(mistake, section, name, did)| async move {
        // Scripts about resuming do not run at the level `bot`.
        let level = match section {
            _ if name.contains("several seats") => "seats",
            7 => "resumable",
            12 => "runs",
            _ => "bot",
        };
        // Only mistakes of silence wait until the patience has expired.
        let patience = if did.starts_with("was silent") { "3" } else { "15" };
        let words = ["--level", level, "--only", name, "--timeout", patience, "--", BOT, mistake, "{url}"];
        let (code, out) = check(&words).await;
        assert!(out.contains(&format!("FAULT section {section}: {name}: {did}")), "{mistake}:\n{out}");
        assert_eq!(code, Some(1), "{mistake}:\n{out}");
    });
    stream::iter(checks).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// Checks that a client which never sends `hello` is started only once, and that repeated findings are reported once.
#[tokio::test]
async fn repeated_faults_are_reported_once() {
    let (code, out) = check(&["--", "sh", "-c", "echo no config >&2; exit 3"]).await;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 3), "{out}");
    assert!(lines[0].starts_with("FAULT section 2: plays a match: exited (exit status: 3: no config)"), "{out}");
    let why = "the client sent no `hello` in the first check";
    assert_eq!(lines[1], format!("skipped section 2: sends its token: {why}"));
    assert!(lines[2].starts_with("same finding as in \"sends its token\" (12 more): plays the second seat; "), "{out}");

    let (code, out) = check(&["--level", "bot", "--", BOT, "acts_twice"]).await;
    assert_eq!(code, Some(1));
    assert_eq!(out.matches("acted twice for seat 0, turn 0, try 0").count(), 1, "{out}");
    assert!(out.contains("same finding as in \"plays a match\" ("), "{out}");

    let (_, out, _) = ludex(&["check", "client", "--json", "--", "sh", "-c", "exit 3"]).await;
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!((&document["faults"], document["checks"].as_array().map(Vec::len)), (&1.into(), Some(14)));
}

#[cfg(unix)]
#[tokio::test]
async fn processes_of_client_are_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let script = format!("sleep 3600 & echo $! > {}; wait", file.display());
    let words = ["--only", "plays a match", "--timeout", "1", "--", "sh", "-c", &script];
    assert_eq!(check(&words).await.0, Some(1));
    let pid = std::fs::read_to_string(&file).expect("the number of a process");
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while alive() && std::time::Instant::now() < patience {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(!alive(), "a program that the client started still runs");
}

#[tokio::test]
async fn trace_has_frames_of_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.jsonl");
    let path = file.to_str().expect("a path in UTF-8");
    let traced = async |mistake: &str, only: &str| {
        let (code, out) = check(&["--trace", path, "--only", only, "--", BOT, mistake]).await;
        let text = std::fs::read_to_string(&file).expect("a trace");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (code, lines, out)
    };
    let (code, lines, out) = traced("ignores_try", "acts again when refused without").await;
    assert_eq!(code, Some(1), "{out}");
    assert!(lines.iter().all(|line| line["check"] == "acts again when refused without a list"));
    let frames = |from: &str| {
        lines.iter().filter(|line| line["from"] == from).map(|line| &line["frame"]["type"]).collect::<Vec<_>>()
    };
    assert_eq!(frames("client"), ["hello", "join", "act", "act", "act"]);
    assert_eq!(frames("kit").last(), Some(&&"refused".into()));
    // MessagePack frames are decoded too. A check without a fault leaves no trace.
    let (_, lines, _) = traced("packed_field", "plays a match").await;
    assert!(lines.iter().any(|line| line["frame"]["note"] == "café"), "{lines:?}");
    let (code, lines, out) = traced("right", "plays a match").await;
    assert_eq!((code, lines.len()), (Some(0), 0), "{out}");
}

#[tokio::test]
async fn json_report_is_a_single_document_and_missing_program_fails() {
    let words = ["check", "client", "--level", "bot", "--only", "token", "--json", "--", BOT, "no_token"];
    let (code, out, _) = ludex(&words).await;
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(code, Some(1));
    assert_eq!(document["faults"], 1);
    assert_eq!(document["checks"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["checks"][0]["fault"]["section"], 2);

    let words = ["check", "client", "--only", "plays a match", "--json", "--", BOT, "right", "{url}"];
    let (code, out, _) = ludex(&words).await;
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!((code, &document["checks"][0].get("fault")), (Some(0), &None));

    let nothing: [(&[&str], &str); 2] =
        [(&["--", "/no/such/program"], "cannot be started"), (&["--only", "flies", "--", BOT], "flies")];
    for (words, why) in nothing {
        let (code, out, err) = ludex(&[&["check", "client"], words].concat()).await;
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(err.contains(why), "{err}");
    }
}

/// Returns true if a tool is installed. Otherwise prints a message, and the test that needs the tool is skipped.
fn has(tool: &str) -> bool {
    let version = if tool == "go" { "version" } else { "--version" };
    let found = std::process::Command::new(tool).arg(version).output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("SKIPPED: {tool} is missing");
    }
    found
}

#[tokio::test]
async fn javascript_example_passes_client_check() {
    if has("node") {
        passes_with_seats(&[
            "node",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/javascript/bot.mjs"),
            "{url}",
        ])
        .await;
    }
}

/// Checks the Java example. Java would compile the source at every start, so the scripts run the compiled classes.
#[tokio::test]
async fn java_example_passes_client_check() {
    if !has("java") {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/java/Bot.java");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let classes = folder.path().to_str().expect("a path in UTF-8");
    let javac = ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", classes, source];
    let compiled = tokio::process::Command::new("java").args(javac).status();
    let from_source = ["--timeout", PATIENCE, "--only", "plays a match", "--", "java", source, "{url}"];
    let (compiled, (code, out)) = tokio::join!(compiled, check(&from_source));
    assert!(compiled.is_ok_and(|status| status.success()), "it does not compile");
    assert_eq!((code, out.as_str()), (Some(0), "ok section 5: plays a match\n"));
    passes_with_seats(&["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "Bot", "{url}"]).await;
}

/// Checks the Go example, which plays suites too. Go would compile the source at every start, so the scripts run a
/// program.
#[tokio::test]
async fn go_example_passes_client_check() {
    if !has("go") {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/go");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("bot").to_str().expect("a path in UTF-8").to_owned();
    // Without the revision, since git refuses to read a checkout of another user.
    for words in [&["vet", "."][..], &["build", "-buildvcs=false", "-o", &program, "."]] {
        let status = tokio::process::Command::new("go").args(words).current_dir(source).status().await;
        assert!(status.is_ok_and(|status| status.success()), "it does not compile: go {words:?}");
    }
    passes_with_runs(&[&program, "{url}"]).await;
}

/// Path of the C++ example.
const CPP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/cpp/bot.cpp");

/// Debian packages with the headers that the C++ example needs.
const HEADERS: &str = "libwebsocketpp-dev, libasio-dev and nlohmann-json3-dev";

/// Compiles the C++ example; `None` if the compiler or the headers are missing.
async fn compiled_cpp(folder: &std::path::Path) -> Option<String> {
    if !has("g++") {
        return None;
    }
    let mut look = tokio::process::Command::new("g++");
    look.args(["-std=c++17", "-M", "-MF", "/dev/null", CPP]).stderr(std::process::Stdio::null());
    if !look.status().await.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: headers are missing (Debian: {HEADERS})");
        return None;
    }
    let program = folder.join("bot").to_str().expect("a path in UTF-8").to_owned();
    let words = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", &program, CPP];
    let status = tokio::process::Command::new("g++").args(words).status().await;
    assert!(status.is_ok_and(|status| status.success()), "it does not compile");
    Some(program)
}

#[tokio::test]
async fn cpp_example_passes_client_check() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Some(program) = compiled_cpp(folder.path()).await {
        passes_with_runs(&[&program, "{url}"]).await;
    }
}

/// Checks that the example needs fewer than thirty additional lines for suites, as its page promises.
#[test]
fn cpp_example_needs_few_additional_lines_for_suites() {
    let source = std::fs::read_to_string(CPP).expect("the example");
    let more = source
        .split("// ---- additions for a suite")
        .nth(1)
        .and_then(|rest| rest.split("// ---- end of the additions").next());
    let lines = more.expect("the marks").lines().filter(|line| !line.trim().is_empty()).count();
    // One more line is in `main`.
    assert!((10..30).contains(&lines), "{lines}");
}
