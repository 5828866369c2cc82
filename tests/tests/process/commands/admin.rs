//! `ludex admin`: removal of old data, ends of matches, and suspended owners.

use std::time::Duration;

use ludex_tests::bot::{Bot, first};
use ludex_tests::server::get;
use ludex_tests::{Process, Server};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Ran, folder, ludex};

/// Runs `ludex admin` on the data of a server in this process.
async fn admin(server: &Server, args: &[&str]) -> Ran {
    let data = server.data.to_str().unwrap();
    let args: Vec<String> = [&["admin"], args, &["--data", data]].concat().into_iter().map(str::to_owned).collect();
    // The server accepts connections on this thread.
    let run = move || ludex(folder().path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Plays a tournament of two server agents as the run `name`.
async fn play_run(server: &Server, name: &str) {
    server.runs.organise(&tournament(name)).await.unwrap();
    while server.runs.run(name).await.unwrap()["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn tournament(name: &str) -> ludex_arena::runs::TournamentRequest {
    let entrants = json!([{"name": "one", "agent": "random"}, {"name": "two", "agent": "random"}]);
    let request = json!({"run": name, "game": "tic_tac_toe", "format": "round_robin", "entrants": entrants});
    serde_json::from_value(request).unwrap()
}

/// Opens the database of a running server a second time.
fn store(server: &Server) -> Connection {
    let file = Connection::open(server.data.join("ludex.db")).unwrap();
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    file
}

/// Sets the end times of all ended matches and of this run to 1970.
fn age(server: &Server, run: &str) {
    store(server).execute("UPDATE matches SET ended_ms = 1000 WHERE ended_ms IS NOT NULL", []).unwrap();
    store(server).execute("UPDATE runs SET ended_ms = 1000 WHERE name = ?1", [run]).unwrap();
}

#[tokio::test]
async fn prune_removes_data_that_its_dry_run_counts() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "bot").await;
    for rated in [false, true] {
        bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": rated, "count": 1})).await;
    }
    bot.play(2, first).await;
    play_run(&server, "cup").await;
    let ids: Vec<String> = bot.matches.keys().cloned().collect();
    server.hub.store.flush().await.unwrap();
    // On a slow machine, the unrated match has a log too.
    let count = "SELECT count(DISTINCT match) FROM acts";
    let logs: i64 = store(&server).query_row(count, [], |row| row.get(0)).unwrap();
    assert!(logs >= 2);
    let all = ["--retain", "unrated=30d", "--retain", "logs=2d", "--retain", "runs=1d"];
    let prune = async |more: &[&str]| admin(&server, &[&["prune"], &all[..], more].concat()).await;
    assert_eq!(prune(&["--json"]).await.json()["old"], json!({"unrated": 0, "logs": 0, "runs": 0}));
    age(&server, "cup");
    let counted = prune(&["--dry-run", "--json"]).await.json();
    assert_eq!((&counted["dry_run"], &counted["old"]), (&json!(true), &json!({"unrated": 1, "logs": logs, "runs": 1})));
    assert_eq!(records(&server, &ids).await, [200, 200]);
    assert!(server.data.join("runs/cup/report.html").exists());
    let said = prune(&[]).await.well();
    assert_eq!(said, format!("1 unrated match removed\n{logs} logs removed\n1 run removed\n"));
    let mut kept = records(&server, &ids).await;
    kept.sort_unstable();
    assert_eq!(kept, [200, 404]);
    assert!(!server.data.join("runs/cup").exists() && server.runs.run("cup").await.is_none());
    // The matches of the run are rated.
    let ratings: Value = serde_json::from_str(&server.get("/ratings").await.1).unwrap();
    assert_eq!((&ratings["records"], &ratings["refused"]), (&json!(2), &json!(0)), "{ratings}");
    let said = prune(&["--dry-run"]).await.well();
    assert_eq!(said, "0 unrated matches would be removed\n0 logs would be removed\n0 runs would be removed\n");
    server.stop().stopped().await;
}

/// Returns the status of the page of each match's record.
async fn records(server: &Server, ids: &[String]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(server.get(&format!("/episodes/{id}")).await.0);
    }
    statuses
}

#[tokio::test]
async fn name_of_removed_run_cannot_be_reused() {
    let server = Server::start(|_| {}).await;
    play_run(&server, "cup").await;
    play_run(&server, "young").await;
    age(&server, "cup");
    let said = admin(&server, &["prune", "--retain", "runs=1d"]).await.well();
    assert_eq!(said, "1 run removed\n");
    assert!(server.data.join("runs/young").exists());
    let refused = server.runs.organise(&tournament("cup")).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.path.as_deref()), ("conflict", Some("run")));
    let mut bot = Bot::new(server.address, "bot").await;
    let refused = bot.call("enrol", json!({"suite": "quick", "run": "cup"})).await;
    assert_eq!(refused["code"], "conflict", "{refused}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn match_of_stopped_server_can_be_ended() {
    let at = folder();
    let (data, log) = (at.path().join("data"), at.path().join("log"));
    let server = Process::start(env!("CARGO_BIN_EXE_ludex-tests"), &data, &log, None, &[]);
    let mut bot = Bot::new(server.address, "bot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true})).await;
    let id = bot.wait("turn").await["match"].as_str().unwrap().to_owned();
    server.kill();
    let end = |id: &str| ludex(at.path(), &["admin", "match", "end", id, "--data", "data"]);
    let ran = end(&id);
    assert!(ran.err.contains("no server uses data"), "{}", ran.err);
    assert_eq!(ran.well(), format!("{id} ended as aborted\n"));
    assert!(end(&id).fails().contains("expected the id of a running match"));
    let server = Process::start(env!("CARGO_BIN_EXE_ludex-tests"), &data, &log, None, &[]);
    let (status, body) = get(server.address, &format!("/episodes/{id}"), "").await;
    let episode: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &episode["reason"]), (200, &json!("aborted")), "{body}");
    server.has_not_panicked();
}

#[tokio::test]
async fn owner_is_suspended_and_resumed() {
    let server = Server::start(|_| {}).await;
    admin(&server, &["token", "add", "--owner", "ann"]).await.well();
    assert!(admin(&server, &["owner", "suspend", "carl"]).await.fails().contains("expected the owner of a token"));
    assert_eq!(admin(&server, &["owner", "suspend", "ann"]).await.well(), "suspended ann\n");
    assert_eq!(admin(&server, &["owner", "suspend", "ann"]).await.well(), "ann is already suspended\n");
    assert!(admin(&server, &["token", "list"]).await.well().contains("owner suspended"));
    assert_eq!(admin(&server, &["token", "list", "--json"]).await.json()["tokens"][0]["suspended"], true);
    assert_eq!(admin(&server, &["owner", "resume", "ann"]).await.well(), "resumed ann\n");
    assert_eq!(admin(&server, &["owner", "resume", "ann"]).await.well(), "ann is not suspended\n");
    server.stop().stopped().await;
}

#[test]
fn prune_requires_valid_retention() {
    let at = folder();
    let ran = ludex(at.path(), &["admin", "prune"]);
    assert!(ran.code == 2 && ran.err.contains("--retain <KIND=AGE>"), "{}", ran.err);
    let err = ludex(at.path(), &["admin", "prune", "--retain", "rated=1d"]).fails();
    assert!(err.contains("--retain: expected a kind of data"), "{err}");
    let err = ludex(at.path(), &["serve", "--retain", "logs=soon"]).fails();
    assert!(err.contains("--retain: logs: expected a number of days"), "{err}");
}
