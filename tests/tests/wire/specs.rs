//! Privacy of agents that the operator configures: clients never receive the agents' command lines and paths.

use std::time::Duration;

use ludex_tests::bot::first;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

const BROWSER: &str = "Accept: text/html\r\n";

/// Starts a server that offers an agent whose spec has a private path, and an agent that cannot play most games.
async fn server(folder: &std::path::Path) -> Server {
    // In Kuhn poker, action 0 is always legal, and a player has at most two turns.
    let file = folder.join("hush.jsonl");
    std::fs::write(&file, "0\n0\n").unwrap();
    Server::start(|config| {
        config.opponents.named.insert("house".into(), format!("script file={}", file.display()));
        config.opponents.named.insert("engine".into(), "uci cmd=\"/opt/hush --password x\"".into());
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
async fn count_private_records(server: &Server) -> usize {
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
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "kuhn_poker", "against": ["house"], "rated": true, "pairs": false, "count": 1})).await;
    bot.play(1, first).await;
    assert!(!format!("{:?}", bot.matches).contains("hush"), "{:?}", bot.matches);
    let refused = bot.call("join", json!({"game": "tic_tac_toe", "against": ["engine"]})).await;
    assert!(refused["type"] == "error" && !refused.to_string().contains("hush"), "{refused}");
    assert_eq!((&refused["path"], &refused["got"]), (&json!("against"), &json!("engine")));
    assert_eq!(count_private_records(&server).await, 1);
    assert!(page(&server, "/ratings", "").await.contains("\"house\""), "the match counts as rated");
    page(&server, "/agents/house", BROWSER).await;
}

#[tokio::test]
async fn gym_shows_name_in_place_of_spec() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let mut gym = Client::hello(server.address).await;
    let open = json!({"game": "kuhn_poker", "seats": ["agent", "house"], "mask": "ids", "record": true});
    let env = gym.call("open", open).await["env"].clone();
    let mut batch = gym.call("reset", json!({"env": env, "seed": "1"})).await;
    while let Some(action) = batch["mask"]["a"].get(0) {
        batch = gym.call("step", json!({"env": env, "actions": [action]})).await;
        assert_eq!(batch["type"], "batch", "{batch}");
        if batch["terminated"][0] == 1 {
            break;
        }
    }
    while count_private_records(&server).await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn tournament_shows_name_in_place_of_spec() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    let request = json!({
        "run": "cup", "game": "kuhn_poker", "format": "round_robin",
        "entrants": [{"name": "house", "agent": "house"}, {"name": "other", "agent": "random"}],
    });
    server.runs.organise(&serde_json::from_value(request).unwrap()).await.unwrap();
    while server.runs.run("cup").await.unwrap()["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for path in ["/runs/cup", "/runs/cup/report.html", "/runs/cup/report.json"] {
        page(&server, path, "").await;
    }
    page(&server, "/runs/cup", BROWSER).await;
    assert!(count_private_records(&server).await > 0);
    // The records in the folder of the run are those of the store.
    let records = std::fs::read_to_string(server.data.join("runs/cup/episodes.jsonl")).unwrap();
    assert!(records.contains("\"spec\":\"house\"") && !records.contains("hush"), "{records}");
}
