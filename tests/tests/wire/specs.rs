//! Privacy of the agents that the operator names: clients never receive their command lines.

use std::time::Duration;

use ludex_tests::bot::first;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

/// Spec of an agent whose program does not exist, so that it fails at its first move.
const SPEC: &str = "uci cmd=\"/opt/hush/engine --password hush\"";
const BROWSER: &str = "Accept: text/html\r\n";

async fn server() -> Server {
    Server::start(|config| {
        config.opponents.named.insert("house".into(), SPEC.into());
    })
    .await
}

/// Returns a page, which must not contain the spec.
async fn page(server: &Server, path: &str, headers: &str) -> String {
    let (status, body) = server.get_with(path, headers).await;
    assert_eq!(status, 200, "{path}: {body}");
    assert!(!body.contains("hush"), "{path}: {body}");
    body
}

/// Checks the records of all ended matches, and returns their number.
async fn records_are_private(server: &Server) -> usize {
    let list: Value = serde_json::from_str(&page(server, "/matches?live=false", "").await).unwrap();
    let matches = list["matches"].as_array().unwrap();
    for entry in matches {
        let record: Value = serde_json::from_str(&page(server, entry["record"].as_str().unwrap(), "").await).unwrap();
        for seats in [&entry["seats"], &record["seats"]] {
            let house = seats.as_array().unwrap().iter().find(|seat| seat["name"] == "house").unwrap();
            assert_eq!((&house["kind"], &house["spec"]), (&json!("bot"), &json!("house")), "{house}");
        }
        page(server, &format!("/matches/{}", entry["match"].as_str().unwrap()), BROWSER).await;
    }
    matches.len()
}

#[tokio::test]
async fn match_shows_name_in_place_of_spec() {
    let server = server().await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "chess", "against": ["house"], "rated": true, "count": 1})).await;
    bot.play(1, first).await;
    let (_, seen) = bot.only();
    assert_eq!(seen.end["reason"], "agent_error");
    assert!(!format!("{seen:?}").contains("hush"), "{seen:?}");
    let refused = bot.call("join", json!({"game": "tic_tac_toe", "against": ["house"]})).await;
    assert!(refused["type"] == "error" && !refused.to_string().contains("uci"), "{refused}");
    assert_eq!((&refused["path"], &refused["got"]), (&json!("against"), &json!("house")));
    assert_eq!(records_are_private(&server).await, 1);
    page(&server, "/ratings", "").await;
    page(&server, "/agents/house", BROWSER).await;
    server.stop().stopped().await;
}

#[tokio::test]
async fn gym_shows_name_in_place_of_spec() {
    let server = server().await;
    let mut gym = Client::hello(server.address).await;
    let open = json!({"game": "chess", "seats": ["agent", "house"], "mask": "ids", "record": true});
    let env = gym.call("open", open).await["env"].clone();
    let batch = gym.call("reset", json!({"env": env, "seed": "1"})).await;
    assert_eq!(batch["type"], "batch", "{batch}");
    let items = gym.call("snapshot", json!({"env": env})).await;
    assert_eq!(items["type"], "snapshots", "{items}");
    if let Some(action) = batch["mask"]["a"].get(0) {
        let batch = gym.call("step", json!({"env": env, "actions": [action]})).await;
        assert_eq!(batch["type"], "batch", "{batch}");
    }
    // The record of the episode is written behind.
    while records_are_private(&server).await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn tournament_shows_name_in_place_of_spec() {
    let server = server().await;
    let request = json!({
        "run": "cup", "game": "chess", "format": "round_robin",
        "entrants": [{"name": "house", "agent": "house"}, {"name": "other", "agent": "random"}],
    });
    server.hub.organise(&serde_json::from_value(request).unwrap()).await.unwrap();
    while server.hub.run("cup").await.unwrap()["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for path in ["/runs/cup", "/runs/cup/report.html", "/runs/cup/report.json"] {
        page(&server, path, "").await;
    }
    page(&server, "/runs/cup", BROWSER).await;
    assert!(records_are_private(&server).await > 0);
    // The folder of the run has the same records, so the operator can verify them.
    let records = std::fs::read_to_string(server.data.join("runs/cup/episodes.jsonl")).unwrap();
    assert!(records.contains("\"spec\":\"house\"") && !records.contains("hush"), "{records}");
    server.stop().stopped().await;
}
