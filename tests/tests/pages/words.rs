//! Texts of pages: how matches ended, who played which seat, and which data is hidden.

use ludex_arena::seasons::SuiteSeasons;
use ludex_arena::suites::Suites;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

use super::{BROWSER, page, played};

#[tokio::test]
async fn match_page_shows_which_agent_ran_out_of_time() {
    let server = Server::start(|_| {}).await;
    let mut absent = Bot::new(server.address, "absent").await;
    let mut present = Bot::new(server.address, "present").await;
    let join = |seat: u32| json!({"game": "tic_tac_toe", "queue": "q", "seat": seat, "clock": {"move_ms": 50}});
    absent.join(join(0)).await;
    present.join(join(1)).await;
    let end = present.wait("match_end").await;
    assert_eq!((&end["reason"], &end["at_fault"]), (&json!("timeout"), &json!(0)), "{end}");
    let id = end["match"].as_str().unwrap();
    let body = page(&server, &format!("/matches/{id}")).await;
    assert!(body.contains("absent (x) ran out of time"), "{body}");
    let list = page(&server, "/matches").await;
    let link = format!("<a href=\"/matches/{id}\"><span class=\"hidden\">Tic-tac-toe, absent and present: </span>20");
    assert!(list.contains("</a>, absent ran out of time") && list.contains(&link), "{list}");
    let entries: Value = serde_json::from_str(&server.get("/matches?live=false").await.1).unwrap();
    assert_eq!(entries["matches"][0]["at_fault"], 0);
}

#[tokio::test]
async fn match_page_shows_loser_and_winner() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "chess", "against": ["random"], "seat": 1, "count": 1})).await;
    let turn = bot.wait("turn").await;
    let id = turn["match"].as_str().unwrap().to_owned();
    bot.act(&turn, first(&turn)).await;
    bot.call("resign", json!({"match": id})).await;
    bot.wait("match_end").await;
    let body = page(&server, &format!("/matches/{id}")).await;
    for said in
        ["random (black) wins: mybot (white) resigned.", "<bdi>mybot (white)</bdi>:</span>", "<b class=\"win\">won</b>"]
    {
        assert!(body.contains(said), "{said}: {body}");
    }
    assert!(body.contains(">mybot (white)</option>") && !body.contains("(seat 1)"), "{body}");
}

#[tokio::test]
async fn equal_agent_names_are_shown_with_seats() {
    let server = Server::start(|_| {}).await;
    let id = played(&server, "random", "leduc_poker").await;
    let body = page(&server, &format!("/matches/{id}")).await;
    assert!(body.contains(">random (p0)</option>") && body.contains(">random (p1)</option>"), "{body}");
    let id = played(&server, "mybot", "leduc_poker").await;
    let body = page(&server, &format!("/matches/{id}")).await;
    assert!(body.contains(">mybot</option>") && body.contains(">random</option>"), "{body}");
}

const SUITE: &str = r#"
name = "cards"
version = 1
title = "Cards"
[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

const SEASONS: &str = r#"
suite = "cards"
[[season]]
name = "past"
begin = "2001-01-01T00:00:00Z"
end = "2001-02-01T00:00:00Z"
[[season]]
name = "present"
begin = "2001-03-01T00:00:00Z"
end = "2201-01-01T00:00:00Z"
[[season]]
name = "later"
begin = "2201-01-01T00:00:00Z"
"#;

#[tokio::test]
async fn season_matches_are_hidden_until_season_ends() {
    let server = Server::start(|config| {
        config.suites = Suites::default().with(SUITE).unwrap();
        config.seasons = vec![SuiteSeasons::parse(SEASONS).unwrap()];
    })
    .await;
    let wanted =
        |owner: &str| NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &["ann", "bob"].map(wanted), 0).await.unwrap();
    let mut ann = Bot::with(server.address, None, json!({"token": tokens[0], "agent": {"name": "ann"}})).await;
    ann.call("enrol", json!({"suite": "cards", "run": "hers"})).await;
    ann.play(2, first).await;
    ann.wait("run_end").await;
    let bob = format!("{BROWSER}Authorization: Bearer {}\r\n", tokens[1]);
    let get = async |path: &str, headers: &str| server.get_with(path, headers).await;
    let list = get("/runs", &bob).await.1;
    let rows: Vec<&str> = list.split("id=\"seasons\"").nth(1).unwrap().split("<tr>").skip(2).collect();
    for (row, said) in rows.iter().zip([
        ["<a href=\"/runs?season=cards%2Fpast\">past</a>", "2001-01-01 00:00", "2001-02-01 00:00", "<td>Finished</td>"],
        [
            "<a href=\"/runs?season=cards%2Fpresent\">present</a>",
            "2001-03-01",
            "2201-01-01",
            "<b class=\"live\">In progress</b>",
        ],
        ["<td>later</td>", "2201-01-01", "not announced", "<td>Upcoming</td>"],
    ]) {
        assert!(said.iter().all(|said| row.contains(said)), "{said:?}: {row}");
    }
    assert!(list.contains("(at most 2 matches, season present)"), "{list}");
    let of_season = get("/runs?season=cards%2Fpresent", &bob).await.1;
    assert!(of_season.contains("href=\"/runs/hers\""), "{of_season}");
    assert!(!get("/runs?season=cards%2Fpast", &bob).await.1.contains("href=\"/runs/hers\""));
    // A client that may list matches gets the reason why the match is hidden; an anonymous client learns nothing.
    let id = ann.matches.keys().next().unwrap();
    assert!(get("/matches", &bob).await.1.contains("hidden until its season ends"));
    for (id, there) in [(id.as_str(), true), ("hers.kuhn.9-9.9.9", false), ("m_0", false)] {
        let path = format!("/matches/{id}");
        let (status, body) = get(&path, &bob).await;
        assert_eq!(status, 404);
        assert_eq!(body.contains("This match is hidden"), there, "{id}: {body}");
        assert_eq!(body.contains("Match not found"), !there, "{id}: {body}");
        let (status, body) = get(&path, BROWSER).await;
        assert!(status == 401 && body.contains("id=\"login\""), "{id}: {body}");
    }
}
