//! Pages of a running match are equal in positions that a spectator cannot distinguish.

use ludex_tests::{Bot, Server};
use regex::Regex;
use serde_json::{Value, json};

use super::BROWSER;

/// Starts a server and a match, up to the bot's first turn; returns the server, the turn and the match id.
async fn dealt(game: &str) -> (Server, Value, String) {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": game, "against": ["random"], "count": 1, "seat": 0, "views": ["struct"]})).await;
    let turn = bot.wait("turn").await;
    let id = turn["match"].as_str().unwrap().to_owned();
    // The bot keeps its seat without moving.
    std::mem::forget(bot);
    (server, turn["view"]["struct"].clone(), id)
}

/// Returns all pages that an anonymous client can fetch, without names, times and commitments.
async fn public_pages(server: &Server, game: &str, id: &str) -> Vec<(String, u16, String)> {
    let times = Regex::new(r#"\d{4}-\d\d-\d\d[T ][0-9:.]+Z?|"(started_ms|up_ms)":\d+|[0-9a-f]{64}"#).unwrap();
    let mut all = Vec::new();
    let pages = [
        "/".to_owned(),
        "/matches".to_owned(),
        "/matches?live=yes&agent=mybot".to_owned(),
        format!("/matches/{id}"),
        format!("/matches/{id}?at=1"),
        format!("/matches/{id}?seat=0"),
        "/agents/mybot".to_owned(),
        "/agents/random".to_owned(),
        format!("/games/{game}"),
        "/runs".to_owned(),
    ];
    let parts = [
        format!("/matches/{id}/picture.svg"),
        format!("/matches/{id}/picture.svg?at=1"),
        format!("/matches/{id}/picture.svg?seat=0"),
        format!("/matches/{id}/notation"),
        format!("/episodes/{id}"),
        "/ratings".to_owned(),
    ];
    let host = server.address.to_string();
    for (path, headers) in pages.iter().map(|p| (p, BROWSER)).chain(parts.iter().map(|p| (p, ""))) {
        // Ratings that are still being computed are fetched again.
        let (mut status, mut body) = server.get_with(path, headers).await;
        while body.contains("being computed") {
            (status, body) = server.get_with(path, headers).await;
        }
        let body = body.replace(id, "ID").replace(&host, "HOST");
        all.push((path.replace(id, "ID"), status, times.replace_all(&body, "TIME").into_owned()));
    }
    all
}

#[tokio::test]
async fn pages_of_running_match_do_not_reveal_deal() {
    for game in ["kuhn_poker", "leduc_poker"] {
        let (server, own, id) = dealt(game).await;
        let here = public_pages(&server, game, &id).await;
        assert!(here.iter().any(|(path, status, _)| path == "/matches/ID" && *status == 200));
        let mut other = None;
        for _ in 0..40 {
            let there = dealt(game).await;
            if there.1 != own {
                other = Some(there);
                break;
            }
        }
        let (server, _, id) = other.expect("another deal");
        for (here, there) in here.iter().zip(public_pages(&server, game, &id).await) {
            assert_eq!(*here, there, "{game}");
        }
    }
}
