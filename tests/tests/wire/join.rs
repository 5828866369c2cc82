//! `ludex join`: built-in agents as clients of a server.

use std::process::Stdio;
use std::time::Duration;

use ludex_protocol::record::RecordParts;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Process, Server};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Runs `ludex join` with these arguments and input; returns its exit code and both outputs.
async fn join(server: &Server, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.arg("join").arg(server.address.to_string()).args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(input.as_bytes()).await.expect("a reader");
    drop(stdin);
    let output = child.wait_with_output().await.expect("its end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[tokio::test]
async fn remote_and_local_matches_are_equal_for_equal_seeds() {
    let server = Server::start(|_| {}).await;
    let words = |seed: &'static str| {
        ["--game", "kuhn_poker", "--agent", "random", "--against", "random seed=1", "--matches", "4", "--json"]
            .into_iter()
            .chain(["--seed", seed])
            .collect::<Vec<_>>()
    };
    let (code, out, err) = join(&server, &words("5"), "").await;
    assert_eq!(code, Some(0), "{err}");
    let first = document(&out);
    assert_eq!(first["matches"].as_array().map(Vec::len), Some(4));
    assert_eq!(first["matches"][0]["seats"][0]["name"], "random");
    assert_eq!(first["wins"].as_u64().unwrap() + first["losses"].as_u64().unwrap(), 4);

    // With --seed 5, match n equals the match that the agent with seed=5+n plays.
    let fixed = ["--game", "tic_tac_toe", "--against", "random seed=9", "--seat", "0", "--json", "--agent"];
    let series = [&fixed[..], &["mcts sims=20", "--seed", "5", "--matches", "3"]].concat();
    let (_, series, _) = join(&server, &series, "").await;
    for n in 0..3 {
        let agent = format!("mcts sims=20 seed={}", 5 + n);
        let (_, alone, _) = join(&server, &[&fixed[..], &[&agent]].concat(), "").await;
        let one = moves(&server, &document(&series)["matches"][n]).await;
        assert_eq!(one, moves(&server, &document(&alone)["matches"][0]).await);
        assert!(one.len() >= 5);
    }
}

/// Checks the clock in the record of a joined match. The server may store an unrated match a moment after its end.
#[tokio::test]
async fn joined_match_has_the_requested_clock() {
    let server = Server::start(|_| {}).await;
    for (seconds, clock) in [("7", json!({"move_ms": 7_000})), ("0", json!({}))] {
        let words = ["--game", "nim", "--agent", "random", "--against", "random", "--json", "--move-seconds", seconds];
        let (code, out, err) = join(&server, &words, "").await;
        assert_eq!(code, Some(0), "{err}");
        let record = whole(&server, &document(&out)["matches"][0]).await;
        assert_eq!(record["clock"], clock, "{record}");
    }
}

async fn moves(server: &Server, played: &Value) -> Vec<u64> {
    let record = whole(server, played).await;
    let events = record["events"].as_array().expect("events").iter();
    events.map(|event| event["action"].as_u64().expect("an id")).collect()
}

/// Returns the record of a match once it is complete.
async fn whole(server: &Server, played: &Value) -> Value {
    let path = played["record"].as_str().expect("a path");
    loop {
        let (status, body) = server.get(path).await;
        let record = document(&body);
        if status == 200 && record.get("digest").is_some() {
            return record;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn join_command_accepts_seat_names() {
    let server = Server::start(|_| {}).await;
    let fixed = ["--game", "chess(max_plies=2)", "--agent", "random", "--against", "mcts sims=2", "--json", "--seat"];
    for (given, seat) in [("White", 1), ("black", 0), ("1", 1)] {
        let (code, out, err) = join(&server, &[&fixed[..], &[given]].concat(), "").await;
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(document(&out)["matches"][0]["seat"], seat, "{given}");
    }
    let (code, _, err) = join(&server, &[&fixed[..], &["whit"]].concat(), "").await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("--seat whit: expected a seat of chess; allowed: black, white"), "{err}");
}

#[tokio::test]
async fn person_plays_and_resigns() {
    let server = Server::start(|_| {}).await;
    let words = ["--game", "tic_tac_toe", "--agent", "human", "--name", "me", "--against", "random", "--seat", "0"];
    let (code, out, err) = join(&server, &words, "what\nb2\nquit\n").await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("to move"), "{out}");
    assert!(out.contains("lost, return -1 (resign, seat 0 at fault)"), "{out}");
}

/// Checks that a client joins again if a server restarts without its store and so forgets the session and the match. A
/// client that reclaims nothing must still finish the requested number of matches.
#[tokio::test]
async fn client_joins_again_after_session_is_forgotten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let server = Process::start(PROGRAM, &at("before"), &at("log"), None, &[]);
    let address = server.address;
    let words = ["--game", "tic_tac_toe", "--agent", "random", "--name", "me", "--seat", "0", "--json"];
    let mut command = Command::new(PROGRAM);
    command.arg("join").arg(address.to_string()).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let joined = command.spawn().expect("the program");
    // The match is pending, because the opponent does not move.
    let mut other = Bot::new(address, "other").await;
    other.join(json!({"game": "tic_tac_toe", "seat": 1})).await;
    other.wait("turn").await;
    let forgotten = other.only().0.to_owned();
    server.kill();

    let server = Process::start(PROGRAM, &at("after"), &at("log"), Some(address), &[]);
    let mut other = Bot::new(address, "other").await;
    other.join(json!({"game": "tic_tac_toe", "seat": 1})).await;
    other.play(1, first).await;
    let output = joined.wait_with_output().await.expect("its end");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let played = document(&String::from_utf8(output.stdout).expect("UTF-8"));
    let matches = played["matches"].as_array().expect("matches");
    let ends: Vec<(&Value, &Value)> = matches.iter().map(|m| (&m["match"], &m["reason"])).collect();
    assert_eq!(ends, [(&json!(forgotten), &Value::Null), (&json!(other.only().0), &json!("finished"))]);
    server.has_not_panicked();
}

#[tokio::test]
async fn invalid_join_errors_state_the_reason() {
    let server = Server::start(|_| {}).await;
    let cases: [(&[&str], &str); 4] = [
        (&["--game", "tic_tac_tow", "--agent", "random", "--against", "random"], "tic_tac_toe"),
        (&["--game", "tic_tac_toe", "--agent", "rundom", "--against", "random"], "random"),
        (&["--game", "tic_tac_toe", "--agent", "random peek=true"], "peek"),
        (&["--game", "tic_tac_toe", "--agent", "random", "--name", "a b"], "--name"),
    ];
    for (words, told) in cases {
        let (code, out, err) = join(&server, words, "").await;
        assert_eq!(code, Some(1), "{words:?}: {out}");
        assert!(err.contains(told), "{words:?}: {err}");
    }
}

/// Checks three Botzone programs: one with the simplified interaction and one with JSON, both kept running, and one
/// that is restarted every turn.
#[tokio::test]
async fn botzone_programs_play_mahjong_remotely() {
    let server = Server::start(|_| {}).await;
    let bot = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/botzone/mcr_mahjong.py");
    for (words, io, count) in [("simple", "simple", "6"), ("", "json", "3"), ("once simple", "simple", "1")] {
        let agent = format!("botzone cmd=\"python3 {bot} {words}\" io={io} sandbox=false");
        let fixed = ["--game", "mcr_mahjong", "--against", "anchor level=1", "--seed", "1", "--json"];
        let (code, out, err) =
            join(&server, &[&fixed[..], &["--matches", count, "--agent", &agent]].concat(), "").await;
        assert_eq!(code, Some(0), "{err}");
        let played = document(&out);
        let all = played["matches"].as_array().expect("matches");
        assert_eq!(all.len().to_string(), count);
        for one in all {
            let record = whole(&server, one).await;
            let parts = RecordParts::parse(&record.to_string()).expect("a record");
            Verifier::new(ludex_games::builtin())
                .verify(&parts, Source::default())
                .unwrap_or_else(|fault| panic!("{fault}: {record}"));
            assert_eq!(record["reason"], "finished", "{one}");
        }
    }
}
