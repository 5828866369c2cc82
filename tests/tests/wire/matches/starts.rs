//! Suite that starts in the middle of a game, played by clients of a server.

use ludex_arena::suites::Suites;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::json;

use super::record;

const SUITE: &str = r#"
name = "spots"
version = 1
title = "Spots"
[[part]]
id = "four"
game = "connect_four"
schedule = "round_robin"
starts = "spots.jsonl"
moves = 1
blocks = 1
"#;

#[tokio::test]
async fn start_moves_of_suite_are_played_without_requests() {
    // A suite text without its file of starts is refused.
    let error = Suites::default().with(SUITE).err().expect("no file").to_string();
    assert!(error.contains("\"spots.jsonl\": this file is neither in [files] nor built in"), "{error}");
    let text = format!("{SUITE}\n[files]\n\"spots.jsonl\" = '{{\"moves\": [3, 2]}}'\n");
    let server = Server::start(|config| config.suites = Suites::default().with(&text).expect("a suite")).await;
    let (mut x, mut o) = (Bot::new(server.address, "x").await, Bot::new(server.address, "o").await);
    for bot in [&mut x, &mut o] {
        let enrol = json!({"suite": "spots", "run": "r", "candidates": 2});
        assert_eq!(bot.call("enrol", enrol).await["type"], "enrolled");
    }
    for action in [3, 2] {
        let event = x.wait("event").await;
        assert_eq!(
            (&event["kind"], &event["action"], &event["forced"]),
            (&json!("move"), &json!(action), &json!(true))
        );
    }
    let turn = x.wait("turn").await;
    assert_eq!(turn["turn"], 1);
    assert_eq!(x.act(&turn, json!({"action": 3})).await["type"], "accepted");
    tokio::join!(x.play(2, first), o.play(2, first));
    x.wait("run_end").await;
    let record = record(&server, turn["match"].as_str().unwrap()).await;
    assert_eq!((&record["start"], &record["reason"]), (&json!(2), &json!("truncated")));
    assert_eq!(record["events"].as_array().unwrap().len(), 3, "{record}");
    server.stop().stopped().await;
}
