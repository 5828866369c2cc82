//! Seasons of suites: equal deals for all agents, one run per agent, hidden until the end of the season.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ludex_arena::seasons::SuiteSeasons;
use ludex_arena::suites::Suites;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_store::{SeasonRow, Write};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

const SUITE: &str = r#"
name = "cards"
version = 1
title = "Cards"
[[part]]
id = "kuhn"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 3
"#;

/// Number of matches in a run.
const MATCHES: usize = 6;

async fn server(data: &Path, seasons: &[&str]) -> Server {
    let season = |name: &&str| format!("[[season]]\nname = \"{name}\"\n");
    let text = format!("suite = \"cards\"\n{}", seasons.iter().map(season).collect::<String>());
    Server::start_in(data, |config| {
        config.suites = Suites::default().with(SUITE).expect("a suite");
        if !seasons.is_empty() {
            config.seasons = vec![SuiteSeasons::parse(&text).expect("seasons")];
        }
    })
    .await
}

async fn enter(server: &Server, token: &str, name: &str, run: &str) -> Bot {
    let mut bot = Bot::with(server.address, None, json!({"token": token, "agent": {"name": name}})).await;
    let enrolled = bot.call("enrol", json!({"suite": "cards", "run": run})).await;
    assert_eq!(enrolled["type"], "enrolled", "{enrolled}");
    bot
}

async fn get(server: &Server, token: &str, path: &str) -> (u16, String) {
    server.get_with(path, &format!("authorization: Bearer {token}\r\n")).await
}

/// Returns the seeds of a bot's matches, in the order of their ids within the run.
async fn seeds(server: &Server, token: &str, bot: &Bot) -> Vec<String> {
    let mut seeds = Vec::new();
    for id in bot.matches.keys() {
        let (status, body) = get(server, token, &format!("/episodes/{id}")).await;
        assert_eq!(status, 200, "{body}");
        let record: Value = serde_json::from_str(&body).expect("a record");
        seeds.push(record["seed"].as_str().expect("a seed").to_owned());
    }
    seeds
}

#[tokio::test]
async fn season_deals_are_equal_and_hidden_until_season_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = server(folder.path(), &["autumn"]).await;
    let mut guest = Bot::new(there.address, "guest").await;
    assert_eq!(guest.call("suites", json!({})).await["suites"][0]["season"], "autumn");
    let refused = guest.call("enrol", json!({"suite": "cards", "run": "free"})).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("suite")), "{refused}");

    let wanted =
        |owner: &str| NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&there.hub.store, &["ann", "bob", "eve"].map(wanted), 0).await.expect("tokens");
    let token = tokens[0].as_str();

    let mut ann = enter(&there, &tokens[0], "a", "first").await;
    let turn = ann.wait("turn").await;
    let id = turn["match"].as_str().expect("a match").to_owned();
    // An agent that has yet to play the same deals cannot watch.
    let mut bob = Bot::with(there.address, None, json!({"token": tokens[1], "agent": {"name": "b"}})).await;
    let watched = bob.call("spectate", json!({"match": id})).await;
    assert_eq!(watched["code"], "forbidden", "{watched}");
    ann.answer(&turn, &mut |turn| first(turn)).await;
    ann.play(MATCHES, first).await;
    let end = ann.wait("run_end").await;
    assert_eq!((&end["reason"], &end["verdict"]["parts"][0]["part"]), (&json!("done"), &json!("kuhn")), "{end}");
    let again = ann.call("enrol", json!({"suite": "cards", "run": "once-more"})).await;
    assert!(again["code"] == "forbidden" && again["message"].as_str().unwrap().contains("first"), "{again}");

    assert_eq!(bob.call("enrol", json!({"suite": "cards", "run": "second"})).await["type"], "enrolled");
    bob.play(MATCHES, first).await;
    bob.wait("run_end").await;
    let mut eve = enter(&there, &tokens[2], "e", "third").await;
    eve.wait("turn").await;
    for hidden in [format!("/episodes/{id}"), format!("/matches/{id}"), "/runs/first/report.html".to_owned()] {
        assert_eq!(get(&there, token, &hidden).await.0, 404, "{hidden}");
    }
    let about = |body: &str| serde_json::from_str::<Value>(body).expect("JSON");
    let page = about(&get(&there, token, "/runs/first").await.1);
    assert_eq!((&page["season"]["released"], &page["report"]), (&json!(false), &Value::Null), "{page}");
    there.stop().stopped().await;

    // The match is still hidden after a restart.
    let there = server(folder.path(), &["autumn"]).await;
    assert_eq!(get(&there, token, &format!("/episodes/{id}")).await.0, 404);
    there.stop().stopped().await;

    // The operator ends the season, including for the run in progress.
    let there = server(folder.path(), &[]).await;
    let released = async {
        for run in ["first", "second", "third"] {
            while about(&get(&there, token, &format!("/runs/{run}")).await.1)["season"]["released"] != true {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), released).await.expect("the season is shown");
    let (seeds_of_ann, seeds_of_bob) = (seeds(&there, token, &ann).await, seeds(&there, token, &bob).await);
    assert_eq!(seeds_of_ann, seeds_of_bob, "the same deals");
    assert_eq!(seeds_of_ann.iter().collect::<BTreeSet<_>>().len(), MATCHES, "and no deal twice");
    assert_eq!(get(&there, token, "/runs/first/report.html").await.0, 200);
    let page = about(&get(&there, token, "/runs/third").await.1);
    assert_eq!(page["state"], "deadline", "{page}");
    let file = folder.path().join("autumn.tar.gz");
    let [data, file] = [folder.path(), &file].map(|path| path.to_str().expect("a path"));
    let program = |args: &[&str]| Command::new(PROGRAM).args(args).output().expect("the program");
    let done = program(&["export", "--season", "cards/autumn", "--bundle", file, "--data", data]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let verified = program(&["verify", file]);
    let shown = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success() && shown.contains("equals table.json"), "{shown}");
    assert!(shown.contains("run first: complete") && shown.contains("run third: NOT COMPLETE"), "{shown}");
    there.stop().stopped().await;

    // The season's deals are public, so it cannot restart: later runs have separate seeds.
    let there = server(folder.path(), &["autumn"]).await;
    let mut ann = enter(&there, &tokens[0], "a", "later").await;
    assert_eq!(ann.call("suites", json!({})).await["suites"][0]["season"], Value::Null);
    ann.play(MATCHES, first).await;
    ann.wait("run_end").await;
    let later = seeds(&there, token, &ann).await;
    assert!(later.iter().all(|seed| !seeds_of_ann.contains(seed)));
    there.stop().stopped().await;
}

#[tokio::test]
async fn agents_of_an_owner_in_a_season_are_limited() {
    for (entries, text) in [(1, ""), (2, "entries = 2\n")] {
        let seasons = format!("suite = \"cards\"\n{text}[[season]]\nname = \"autumn\"\n");
        let there = Server::start(|config| {
            config.suites = Suites::default().with(SUITE).expect("a suite");
            config.seasons = vec![SuiteSeasons::parse(&seasons).expect("seasons")];
        })
        .await;
        let wanted = |owner: &str| {
            let names = vec![format!("{owner}.*")];
            NewToken { owner: owner.into(), scopes: Scopes::OPEN, names, expires_ms: None }
        };
        let tokens = add(&there.hub.store, &["ann", "eve"].map(wanted), 0).await.expect("tokens");
        let enrol = async |agent: &str, run: &str| {
            let token = &tokens[usize::from(agent.starts_with("eve"))];
            let mut bot = Bot::with(there.address, None, json!({"token": token, "agent": {"name": agent}})).await;
            bot.call("enrol", json!({"suite": "cards", "run": run})).await
        };
        for k in 1..=entries {
            assert_eq!(enrol(&format!("eve.{k}"), &format!("run-{k}")).await["type"], "enrolled");
        }
        let refused = enrol("eve.9", "run-9").await;
        assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("suite")), "{refused}");
        let told = refused["message"].as_str().unwrap();
        assert!(told.contains("got eve.9; entered: eve.1") && told.ends_with(&format!("allowed: {entries}")), "{told}");
        // An agent that has enrolled continues its run, and other owners are not affected.
        assert_eq!(enrol("eve.1", "run-1").await["type"], "enrolled");
        assert_eq!(enrol("ann.1", "other").await["type"], "enrolled");
        there.stop().stopped().await;
    }
    let none = SuiteSeasons::parse("suite = \"cards\"\nentries = 0\n[[season]]\nname = \"autumn\"\n");
    assert!(none.is_err());
}

#[tokio::test]
async fn frozen_season_is_published_after_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = server(folder.path(), &["autumn"]).await;
    let wanted = NewToken { owner: "ann".into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let token = add(&there.hub.store, &[wanted], 0).await.expect("a token").remove(0);
    let mut ann = enter(&there, &token, "a", "first").await;
    ann.play(MATCHES, first).await;
    ann.wait("run_end").await;
    let [season] = &there.hub.store.seasons("suite:cards").await.expect("seasons")[..] else { panic!("a season") };
    assert_eq!((season.name.as_str(), season.frozen_ms), ("autumn", None));
    // The server stops after it has frozen the season and before it publishes the run.
    let frozen = SeasonRow { frozen_ms: Some(1), ..season.clone() };
    there.hub.store.write(vec![Write::Season(frozen)]).await.expect("a write");
    assert!(there.hub.store.run("first").await.expect("a read").is_some_and(|run| run.hidden));
    there.stop().stopped().await;

    let there = server(folder.path(), &["autumn"]).await;
    let shown = async {
        while there.hub.store.run("first").await.expect("a read").is_some_and(|run| run.hidden) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), shown).await.expect("the run is published");
    assert_eq!(get(&there, &token, "/runs/first/report.html").await.0, 200);
    assert_eq!(seeds(&there, &token, &ann).await.len(), MATCHES);
    let mut guest = Bot::with(there.address, None, json!({"token": token, "agent": {"name": "a"}})).await;
    assert_eq!(guest.call("suites", json!({})).await["suites"][0]["season"], Value::Null);
    there.stop().stopped().await;
}

#[tokio::test]
async fn server_refuses_to_start_with_season_of_unknown_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = ludex_server::Config::new(folder.path());
    config.suites = Suites::default();
    config.seasons = vec![SuiteSeasons::parse("suite = \"cards\"\n[[season]]\nname = \"a\"").expect("seasons")];
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let error = ludex_server::run(listener, config, std::future::pending()).await.expect_err("no such suite");
    assert!(error.to_string().contains("the name of an offered suite"), "{error:#}");
}

#[tokio::test]
async fn seasons_start_and_end_by_a_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut there = server(folder.path(), &[]).await;
    let wanted = NewToken { owner: "ann".into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&there.hub.store, &[wanted], 0).await.expect("tokens");
    let mut ann = enter(&there, &tokens[0], "a", "free").await;
    let season_now = async |ann: &mut Bot| ann.call("suites", json!({})).await["suites"][0]["season"].clone();
    assert_eq!(season_now(&mut ann).await, Value::Null);

    let text = "suite = \"cards\"\n[[season]]\nname = \"autumn\"";
    there.config.seasons = vec![SuiteSeasons::parse(text).expect("seasons")];
    there.handle.reload(&there.config).expect("a reload");
    while season_now(&mut ann).await != "autumn" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let enrolled = ann.call("enrol", json!({"suite": "cards", "run": "first"})).await;
    assert_eq!(enrolled["type"], "enrolled", "{enrolled}");
    ann.play(2 * MATCHES, first).await;
    let page = async |run: &str| -> Value {
        serde_json::from_str(&get(&there, &tokens[0], &format!("/runs/{run}")).await.1).expect("JSON")
    };
    while page("first").await["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(page("first").await["season"]["released"], false);
    // A season that the settings no longer name ends.
    let without = ludex_server::Config { seasons: Vec::new(), ..there.config.clone() };
    there.handle.reload(&without).expect("a reload");
    while page("first").await["season"]["released"] != true {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(season_now(&mut ann).await, Value::Null);
    there.stop().stopped().await;
}
