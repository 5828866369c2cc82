//! Remote runs during failures: a full disk of the server, or a client that exceeds its limits.

use std::time::Duration;

use ludex_arena::suites::Suites;
use ludex_env::check::scaled;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

const SUITE: &str = r#"
name = "faults"
version = 1
title = "One part"
[[part]]
id = "cards"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 12
"#;

async fn server(runs: u32) -> Server {
    Server::start(|config| {
        config.suites = Suites::default().with(SUITE).expect("a suite");
        config.limits.owner_runs = runs;
    })
    .await
}

fn enrol(run: &str) -> Value {
    json!({"suite": "faults", "run": run, "slots": 2})
}

/// Returns the number of commits of the store, including failed commits.
async fn commits(server: &Server) -> u64 {
    let (_, page) = server.get("/metrics").await;
    let count = page.lines().find_map(|line| line.strip_prefix("ludex_store_commit_seconds_count ")?.parse().ok());
    count.expect("a number of commits")
}

/// Simulates a full disk with triggers that reject new matches and the ends of running matches.
#[tokio::test]
async fn full_disk_delays_run_without_loss() {
    let server = server(4).await;
    let file = rusqlite::Connection::open(server.data.join("ludex.db")).expect("the store");
    file.busy_timeout(Duration::from_secs(10)).expect("patience");
    let mut bot = Bot::new(server.address, "cand").await;
    assert_eq!(bot.call("enrol", enrol("long")).await["due"], 24);
    bot.play(5, first).await;
    for (name, when) in [("begin", "INSERT ON matches"), ("end", "INSERT ON records")] {
        let full = format!("CREATE TRIGGER full_{name} BEFORE {when} BEGIN SELECT RAISE(ABORT, 'no room'); END");
        file.execute_batch(&full).expect("a trigger");
    }
    // The client receives no error and continues to play.
    let playing = tokio::spawn(async move { bot.play(24, first).await });
    // The two running matches have at most three more acts each. All other commits are failed attempts to start or end
    // a match. If both matches wait for their end, attempts become as rare as one in eight seconds.
    let enough = commits(&server).await + 12;
    for _ in 0..2_400 {
        if commits(&server).await >= enough {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(commits(&server).await >= enough, "the server does not try again");
    let page: Value = serde_json::from_str(&server.get("/runs/long").await.1).expect("a page");
    assert!(page["state"] == "open" && page["done"].as_u64() < Some(24), "{page}");
    file.execute_batch("DROP TRIGGER full_begin; DROP TRIGGER full_end").expect("room again");
    playing.await.expect("no panic");
    let mut end = Value::Null;
    for _ in 0..2_400 {
        end = serde_json::from_str(&server.get("/runs/long").await.1).expect("a page");
        if end["state"] != "open" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let part = &end["verdict"]["parts"][0];
    let counted: u64 = ["wins", "draws", "losses"].iter().filter_map(|key| part[*key].as_u64()).sum();
    assert_eq!((&end["state"], counted), (&json!("done"), 24), "{end}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn excess_enrolments_are_refused_without_delay() {
    let server = server(20).await;
    let mut bot = Bot::new(server.address, "many").await;
    let mut accepted = 0;
    for n in 0..scaled(1_000) {
        let answer = bot.call("enrol", enrol(&format!("run-{n}"))).await;
        match answer["type"].as_str() {
            Some("enrolled") => accepted += 1,
            _ => assert_eq!((&answer["code"], &answer["path"]), (&json!("limit"), &json!("run")), "{answer}"),
        }
    }
    assert_eq!(accepted, 20);
    let mut other = Bot::new(server.address, "other").await;
    other.join(json!({"against": ["random"], "game": "kuhn_poker", "rated": true, "count": 3})).await;
    other.play(3, first).await;
    server.stop().stopped().await;
}
