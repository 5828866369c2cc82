//! Pages of agents, including people who are rated separately from programs.

use std::time::{Duration, Instant};

use ludex_arena::settings::Humans;
use ludex_arena::standing_ladders::LadderTerms;
use ludex_arena::suites::Suites;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

use super::page;

/// Fetches a page repeatedly until it contains the wanted text, since ratings are computed in the background.
async fn until(server: &Server, path: &str, wanted: &str) -> String {
    let from = Instant::now();
    loop {
        let body = page(server, path).await;
        if body.contains(wanted) {
            return body;
        }
        assert!(from.elapsed() < Duration::from_secs(60), "{wanted}: {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn rated(server: &Server, hello: Value, matches: u32, choose: impl FnMut(&Value) -> Value) {
    let mut bot = Bot::with(server.address, None, hello).await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": matches})).await;
    bot.play(matches as usize, choose).await;
}

#[tokio::test]
async fn agent_page_has_rating_history_and_costs() {
    let server = Server::start(|_| {}).await;
    let notes = json!({"tokens": {"in": 100, "out": 20}, "cost": 0.25});
    rated(
        &server,
        json!({"agent": {"name": "dear"}}),
        6,
        |turn| json!({"action": turn["legal"][0], "notes": notes.clone()}),
    )
    .await;
    let body = until(&server, "/agents/dear", "Elo by match").await;
    for said in [
        "<svg class=\"figure\"",
        "Elo after each match of Tic-tac-toe",
        "it starts at 1500 and changes by at most 32 points per match",
        "Cost per move",
        "<td class=\"n\">120</td><td class=\"n\">0.25</td>",
        "self-reported",
        "href=\"/agents/random\"",
        "curves.css?",
    ] {
        assert!(body.contains(said), "{said}: {body}");
    }
    // The table below the rating curve has one row per match.
    let rows = body.split("<summary>Data").nth(1).unwrap().split("</table>").next().unwrap().matches("<tr><td").count();
    assert_eq!(rows, 6, "{body}");
    let body = until(&server, "/agents/random", "Elo by match").await;
    assert!(!body.contains("<td class=\"n\">120</td>"), "{body}");
}

const SUITE: &str = r#"
name = "little"
version = 1
title = "Little"
[[part]]
id = "tic"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

#[tokio::test]
async fn agent_page_separates_rating_scales_of_one_game() {
    let server = Server::start(|config| config.suites = Suites::default().with(SUITE).unwrap()).await;
    rated(&server, json!({"agent": {"name": "ada"}}), 2, first).await;
    until(&server, "/games/tic_tac_toe", "<caption>Tic-tac-toe: 2 matches</caption>").await;
    let mut bot = Bot::new(server.address, "ada").await;
    bot.call("enrol", json!({"suite": "little", "run": "mine"})).await;
    bot.play(2, first).await;
    bot.wait("run_end").await;
    let (part, other) = ("Tic-tac-toe, part tic of little", "Tic-tac-toe, outside runs");
    for path in ["/games/tic_tac_toe", "/agents/ada"] {
        let body = until(&server, path, part).await;
        assert!(body.contains(other), "{body}");
    }
}

#[tokio::test]
async fn people_and_programs_share_ratings_if_configured() {
    for (humans, scales) in [(Humans::Together, 1), (Humans::Apart, 2)] {
        let server = Server::start(|config| config.humans = humans).await;
        rated(&server, json!({"agent": {"name": "bot"}}), 2, first).await;
        rated(&server, json!({"agent": {"name": "ada", "kind": "human"}}), 2, first).await;
        let table: Value = serde_json::from_str(&server.get("/ratings").await.1).unwrap();
        let all = table["ratings"].as_array().unwrap();
        assert_eq!(all.len(), scales, "{table}");
        let of = |name: &str| -> Vec<&Value> {
            let has = |scale: &&Value| scale["agents"].as_array().unwrap().iter().any(|row| row["name"] == name);
            all.iter().filter(has).collect()
        };
        assert_eq!((of("bot").len(), of("ada").len(), of("random").len()), (1, 1, scales), "{table}");
        assert_eq!(of("ada")[0]["people"] == true, humans == Humans::Apart, "{table}");
        assert!(of("bot")[0]["people"].is_null(), "{table}");
        let body = until(&server, "/agents/ada", "/games/tic_tac_toe\">Tic-tac-toe</a>").await;
        assert_eq!(body.contains("with people"), humans == Humans::Apart, "{body}");
    }
}

#[tokio::test]
async fn ladder_admits_people_if_they_share_ratings_with_programs() {
    for (humans, kind) in [(Humans::Together, "joined"), (Humans::Apart, "error")] {
        let server = Server::start(|config| {
            config.humans = humans;
            config.ladders = vec![LadderTerms::of("tic_tac_toe")];
        })
        .await;
        let ladder = json!({"game": "tic_tac_toe", "queue": "ladder", "rated": true, "count": 0});
        let mut ada = Bot::with(server.address, None, json!({"agent": {"name": "ada", "kind": "human"}})).await;
        let answer = ada.call("join", ladder.clone()).await;
        assert_eq!(answer["type"], kind, "{answer}");
        if kind == "error" {
            assert_eq!((&answer["code"], &answer["path"]), (&json!("forbidden"), &json!("queue")), "{answer}");
        }
        let mut bot = Bot::new(server.address, "bot").await;
        assert_eq!(bot.call("join", ladder).await["type"], "joined");
    }
}
