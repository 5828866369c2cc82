//! `ludex check server` run on this project's server, directly and through a proxy that modifies one thing.

use std::net::SocketAddr;

use ludex_server::auth::{NewToken, Scopes, add, default_names};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

use super::ludex;
use super::meddler::{Bend, Meddler};

/// Number of lines in the report.
const LINES: usize = 73;

/// Returns the report lines of skipped checks, each with the requirement that the server does not meet.
fn skipped(out: &str) -> Vec<&str> {
    out.lines().filter(|line| line.starts_with("skipped ")).collect()
}

#[tokio::test]
async fn server_passes_server_check() {
    let server = Server::start(|_| {}).await;
    let (code, out, err) = ludex(&["check", "server", &server.address.to_string()]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(skipped(&out), ["skipped section 2: refuses a wrong token: no token was given with --token"]);
    assert_eq!(out.lines().filter(|line| line.starts_with("ok section ")).count(), LINES - 1, "{out}");
    assert_eq!(out.lines().count(), LINES, "{out}");
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_check_leaves_ratings_unchanged() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "rated").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "pairs": false})).await;
    bot.play(1, first).await;
    let pages = async || [server.get("/ratings").await, server.get("/matches?live=all&rated=true").await];
    let before = pages().await;
    let ratings: Value = serde_json::from_str(&before[0].1).expect("JSON");
    assert_eq!(ratings["records"], 1, "{ratings}");
    for only in [" run", "golden frames"] {
        let (code, out, err) = ludex(&["check", "server", &server.address.to_string(), "--only", only]).await;
        assert_eq!(code, Some(0), "{out}{err}");
    }
    assert_eq!(pages().await, before);
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_with_documents_passes_server_check() {
    let games = own_game::registries().0;
    let server = Server::start(|config| config.games = games).await;
    let check = async |address: SocketAddr| {
        ludex(&["check", "server", &address.to_string(), "--only", "accepts documents", "--timeout", "5"]).await
    };
    let (code, out, err) = check(server.address).await;
    assert_eq!((code, skipped(&out).len(), out.lines().count()), (Some(0), 0, 2), "{out}{err}");
    // Both checks run on a server without issues in its refusals, and on one that names no schema.
    let without_issues: Bend = |_, mut message| {
        message.as_object_mut().expect("a map").remove("issues");
        vec![message]
    };
    let without_schemas: Bend = |_, mut message| {
        message.as_object_mut().expect("a map").remove("schema");
        vec![message]
    };
    for (bend, expected) in [(without_issues, "1 to 64 JSON pointers"), (without_schemas, "requested no document")] {
        let meddler = Meddler::before(server.address, bend).await;
        let (code, out, err) = check(meddler.address).await;
        let both = ["in environments", "in matches", expected].iter().all(|part| out.contains(part));
        assert!(code == Some(1) && both && !out.contains("ok section"), "{out}{err}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_with_tokens_passes_server_check() {
    let server = Server::start(|_| {}).await;
    let wanted = |owner: &str, scopes| {
        let (owner, names) = (owner.to_owned(), default_names(owner));
        NewToken { owner, scopes, names, expires_ms: None }
    };
    let scopes = [Scopes::OPEN, Scopes::PLAY];
    let tokens =
        add(&server.hub.store, &[wanted("ada", scopes[0]), wanted("bob", scopes[1])], 0).await.expect("tokens");
    let url = format!("ws://{}/ws", server.address);
    let check = async |token: &str, words: &[&str]| {
        ludex(&[&["check", "server", &url, "--token", token], words].concat()).await
    };
    let (code, out, err) = check(&tokens[0], &[]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(skipped(&out), [""; 0]);

    // Checks that need more scopes than the token grants are skipped rather than passed.
    let (code, out, _) = check(&tokens[1], &["--only", "shapes"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(skipped(&out).len(), 1, "{out}");
    let (code, out, _) = check(&tokens[0], &["--only", "clock", "--json"]).await;
    let document: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!((code, &document["faults"]), (Some(0), &json!(0)));
    assert_eq!(document["checks"].as_array().map(Vec::len), Some(1));
    server.stop().stopped().await;
}

#[tokio::test]
async fn given_ca_certificate_is_trusted() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls");
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let files = ludex_server::config::TlsFiles { cert: cert.clone(), key };
    let server = Server::start(|c| c.tls = Some(files)).await;
    let url = format!("wss://localhost:{}", server.address.port());
    let words = ["check", "server", &url, "--only", "opens its WebSocket"];
    let (code, out, err) = ludex(&words).await;
    assert_eq!(code, Some(2), "{out}{err}");
    let cert = cert.to_str().expect("a path");
    let (code, out, err) = ludex(&[&words[..], &["--ca", cert]].concat()).await;
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, _, err) = ludex(&[&words[..], &["--ca", "/nowhere"]].concat()).await;
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("/nowhere"), "{err}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn server_check_errors_state_the_reason() {
    for (words, why) in [
        (vec!["check", "server", "ws://127.0.0.1:1"], "127.0.0.1:1"),
        (vec!["check", "server", "no address"], "no address"),
        (vec!["check", "server", "ws://127.0.0.1:1", "--only", "no such check"], "no such check"),
    ] {
        let (code, out, err) = ludex(&words).await;
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(err.contains(why), "{err}");
    }
}

// ---- one thing changed ----------------------------------------------------------------------------------------------

fn is(message: &Value, kind: &str) -> bool {
    message["type"] == kind
}

/// Returns the list at a JSON pointer in a message, if it exists.
fn list<'a>(message: &'a mut Value, at: &str) -> Option<&'a mut Vec<Value>> {
    message.pointer_mut(at)?.as_array_mut()
}

fn drops_a_reply(_: &mut Vec<Value>, message: Value) -> Vec<Value> {
    if is(&message, "ok") { Vec::new() } else { vec![message] }
}

fn answers_twice(_: &mut Vec<Value>, message: Value) -> Vec<Value> {
    if is(&message, "games") { vec![message.clone(), message] } else { vec![message] }
}

fn forgets_the_id(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "error") {
        message.as_object_mut().expect("a map").remove("re");
    }
    vec![message]
}

fn keeps_a_limit(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "welcome") {
        message["limits"].as_object_mut().expect("a map").remove("depth");
    }
    vec![message]
}

fn knows_no_nearest(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    message.as_object_mut().expect("a map").remove("nearest");
    vec![message]
}

fn shortens_a_column(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "batch") {
        list(&mut message, "/reward").expect("a column").pop();
    }
    vec![message]
}

fn answers_a_wrong_mask(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    // Changes only the mask of form `u1`, which then differs from the other forms.
    if let Some(mask) = list(&mut message, "/mask")
        && mask.len() > 8
    {
        mask[0] = json!(1 - mask[0].as_u64().unwrap_or(0));
    }
    vec![message]
}

fn pays_twice(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    for reward in list(&mut message, "/reward").into_iter().flatten() {
        *reward = json!(2.0 * reward.as_f64().unwrap_or(0.0));
    }
    vec![message]
}

fn loads_the_dice(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    for p in list(&mut message, "/chance/p").into_iter().flatten() {
        *p = json!(0.5 * p.as_f64().unwrap_or(0.0));
    }
    vec![message]
}

fn steps_again(seen: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "batch") && seen.contains(&message["re"]) {
        for length in list(&mut message, "/length").into_iter().flatten() {
            *length = json!(length.as_u64().unwrap_or(0) + 1);
        }
    }
    seen.push(message["re"].clone());
    vec![message]
}

fn reorders_events(held: &mut Vec<Value>, message: Value) -> Vec<Value> {
    // Delays one event until after the next one.
    match held.pop() {
        None if is(&message, "event") => {
            held.push(message);
            Vec::new()
        }
        None => vec![message],
        Some(event) => vec![message, event],
    }
}

fn leaks_the_seed(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "turn") {
        message["seed"] = json!("1844674407370955");
    }
    vec![message]
}

fn leaks_the_seed_by_another_name(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    // Reveals the match's seed in a view, before the end.
    if is(&message, "turn") {
        message["view"]["struct"]["hint"] = json!("try 1844674407370955");
    }
    if is(&message, "match_end") {
        message["seed"] = json!("1844674407370955");
    }
    vec![message]
}

fn draws_by_itself(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    // Reverses the order of the client's chance outcomes.
    if let Some(ids) = list(&mut message, "/chance/a") {
        ids.reverse();
    }
    vec![message]
}

fn commits_to_nothing(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "match_start") {
        message["seed_commit"] = json!("ab".repeat(32));
    }
    vec![message]
}

fn resyncs_without_the_turn(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "resync") {
        message.as_object_mut().expect("a map").remove("turn");
    }
    vec![message]
}

fn accepts_twice(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if message["code"] == "stale_turn" || message["code"] == "conflict" {
        let text = json!("x(0,0)");
        message = json!({"type": "accepted", "re": message["re"], "match": "m", "seat": 0, "turn": 0, "text": text, "bank_ms": 0});
    }
    vec![message]
}

fn shows_too_much_to_spectators(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "match_start") && message["seat"].is_null() {
        message["seat"] = json!(0);
    }
    vec![message]
}

fn counts_double(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "progress") {
        message["done"] = json!(message["done"].as_u64().unwrap_or(0) + 1);
    }
    vec![message]
}

fn ends_twice(_: &mut Vec<Value>, message: Value) -> Vec<Value> {
    if is(&message, "run_end") { vec![message.clone(), message] } else { vec![message] }
}

fn keeps_the_setting(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if message["code"] == "conflict" {
        message.as_object_mut().expect("a map").remove("path");
    }
    vec![message]
}

fn begins_before_it_answers(held: &mut Vec<Value>, message: Value) -> Vec<Value> {
    if is(&message, "enrolled") {
        held.push(message);
        return Vec::new();
    }
    [vec![message], std::mem::take(held)].concat()
}

fn begins_anew(seen: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "enrolled") {
        if !seen.is_empty() {
            message["join"] = json!("j_other");
        }
        seen.push(message.clone());
    }
    vec![message]
}

fn never_withdraws(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "run_end") {
        message["reason"] = json!("done");
    }
    vec![message]
}

fn plays_other_matches(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if is(&message, "resync") && message["turn"].is_object() {
        message["turn"]["match"] = json!("m_other");
    }
    vec![message]
}

fn tells_strangers(_: &mut Vec<Value>, mut message: Value) -> Vec<Value> {
    if message["code"] == "forbidden" {
        message["code"] = json!("conflict");
    }
    vec![message]
}

/// Modifications: function, name of the checks to run, part of the line that reports the fault.
const MUTATIONS: [(Bend, &str, &str); 26] = [
    (
        drops_a_reply,
        "closes its environments",
        "sent nothing for 2 s; expected a reply to request 3, {\"type\":\"close\"",
    ),
    (answers_twice, "answers each of many", "which expects no reply: {\"type\":\"games\""),
    (forgets_the_id, "names the field", "sent nothing for 2 s; expected a reply to request"),
    (keeps_a_limit, "announces every limit", "limits.depth is null; expected a number of at least 1"),
    (knows_no_nearest, "suggests known games", "`nearest` to \"tic_tqac_toe\" is None; expected \"tic_tac_toe\""),
    (shortens_a_column, "shapes", "batch.reward has 5 entries; expected 6"),
    (answers_a_wrong_mask, "every form of the mask", "the mask U1 of view 0 at step 0"),
    (pays_twice, "sum to returns", "rewards sum to [-2.0, 2.0] when returns are [-1.0, 1.0]"),
    (loads_the_dice, "play chance", "probabilities sum to 0.500000; expected 1"),
    (steps_again, "repeated request only once", "the reply to a step that was sent a third time"),
    (reorders_events, "frame by frame", "; expected seq 2, because the last was 1"),
    (draws_by_itself, "draws chance", "draws of seed 20261121"),
    (leaks_the_seed, "keeps seed, salt and digest", "sent `seed` in"),
    (leaks_the_seed_by_another_name, "keeps seed, salt and digest", "sent the seed in"),
    (commits_to_nothing, "a record that verifies", "SHA-256 over salt"),
    (
        resyncs_without_the_turn,
        "sends everything in a resync",
        "`turn` of the resync, compared with earlier frames: None",
    ),
    (accepts_twice, "one move for each turn", "with {\"type\":\"accepted\""),
    (shows_too_much_to_spectators, "spectators", "match_start.seat of a spectator: Some(0); expected None"),
    (counts_double, "plays a run", "done and due of `progress`: (2, "),
    (ends_twice, "plays a run", "after `run_end`; expected nothing"),
    (keeps_the_setting, "change the settings of a run", "expected error conflict with path \"scale\""),
    (begins_before_it_answers, "plays a run", "expected `enrolled` before all other messages of the run"),
    (begins_anew, "change the settings of a run", "run and join in the reply to a repeated `enrol`"),
    (never_withdraws, "agent withdraws", "run_end.reason: Done; expected Withdrawn"),
    (plays_other_matches, "continues a run", "match, turn and legal after the reconnect"),
    (tells_strangers, "for the agent that started it", "expected `error forbidden`"),
];

#[tokio::test]
async fn server_check_reports_every_fault() {
    let server = Server::start(|_| {}).await;
    let mut unnamed = Vec::new();
    for (bend, only, line) in MUTATIONS {
        let meddler = Meddler::before(server.address, bend).await;
        let url = meddler.address.to_string();
        let (code, out, err) = ludex(&["check", "server", &url, "--timeout", "2", "--only", only]).await;
        let named = out.lines().any(|found| found.starts_with("FAULT section ") && found.contains(line));
        if !named || code != Some(1) {
            unnamed.push(format!("{line}:\n{out}{err}"));
        }
    }
    assert!(unnamed.is_empty(), "{}", unnamed.join("\n"));
    // A proxy that changes nothing causes no fault.
    let meddler = Meddler::before(server.address, |_, message| vec![message]).await;
    let (code, out, err) = ludex(&["check", "server", &meddler.address.to_string(), "--only", "match"]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    server.stop().stopped().await;
}
