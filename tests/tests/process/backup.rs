//! Backups of a server in the middle of play: restored elsewhere, all matches, runs and ladders continue. Runs whose
//! server is killed after each change of the enrolment.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ludex_tests::bot::first;
use ludex_tests::server::get;
use ludex_tests::{Bot, Process};
use serde_json::{Value, json};

use super::crash::{LIMITS, PROGRAM, holds};

const SUITE: &str = r#"
name = "little"
version = 1
title = "Little"
[policy]
limit_s = 600
[[part]]
id = "ttt"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 4
"#;

const LADDER: &str = "game = \"tic_tac_toe\"\nanchors = []\n[pairing]\nnear = 10000\nagain = 0\n";

/// Polls a page until its `field` is the `wanted` value.
async fn until(address: SocketAddr, path: &str, field: &str, wanted: &Value) {
    loop {
        let (_, body) = get(address, path, "").await;
        let page: Value = serde_json::from_str(&body).expect("JSON");
        if page[field] == *wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Plays two matches of two bots on the ladder, and waits until `matches` are counted in total.
async fn climb(address: SocketAddr, bots: &mut [Bot; 2], matches: usize) {
    let [a, b] = bots;
    for bot in [&mut *a, &mut *b] {
        bot.join(json!({"game": "tic_tac_toe", "queue": "ladder", "rated": true, "count": 2})).await;
    }
    tokio::join!(a.play(matches, first), b.play(matches, first));
    until(address, "/ladders/tic_tac_toe", "matches", &json!(matches)).await;
}

fn ludex(words: &[&str], data: &Path) {
    let output = Command::new(PROGRAM).args(words).arg("--data").arg(data).output().expect("the program");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Plays a rated match and returns its seed.
async fn rated_seed(address: SocketAddr) -> Value {
    let mut bot = Bot::new(address, "seeds").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "pairs": false})).await;
    bot.play(1, first).await;
    bot.only().1.end["seed"].clone()
}

#[tokio::test]
async fn restored_backup_continues_matches_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (data, copy, log) = (path("data"), path("copy"), path("log"));
    let (file, suite) = (path("b.tar.gz").display().to_string(), path("little.toml").display().to_string());
    let ladder = path("ladder.toml").display().to_string();
    std::fs::write(&suite, SUITE).unwrap();
    std::fs::write(&ladder, LADDER).unwrap();
    let options = [&LIMITS[..], &["--suite", &suite, "--ladder", &ladder]].concat();
    let server = Process::start(PROGRAM, &data, &log, None, &options);
    let address = server.address;
    let mut climbers = [Bot::new(address, "c").await, Bot::new(address, "d").await];
    climb(address, &mut climbers, 2).await;

    let (mut x, mut o) = (Bot::new(address, "x").await, Bot::new(address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        bot.join(
            json!({"game": "tic_tac_toe", "queue": "q", "rated": true, "seat": seat, "clock": {"move_ms": 600_000}}),
        )
        .await;
    }
    let turn = x.wait("turn").await;
    assert_eq!(x.act(&turn, json!({"action": 4})).await["type"], "accepted");
    let mut runner = Bot::new(address, "runner").await;
    assert_eq!(runner.call("enrol", json!({"suite": "little", "run": "r"})).await["type"], "enrolled");
    runner.play(2, first).await;
    ludex(&["admin", "backup", &file], &data);
    let seed = rated_seed(address).await;
    server.kill();

    ludex(&["admin", "restore", &file], &copy);
    let server = Process::start(PROGRAM, &copy, &log, Some(address), &options);
    let [c, d] = &mut climbers;
    for bot in [&mut x, &mut o, &mut runner, c, d] {
        bot.cut().await;
        assert_eq!(bot.resumed, [true]);
    }
    tokio::join!(x.play(1, first), o.play(1, first));
    for bot in [&x, &o] {
        let (id, seen) = bot.only();
        holds(address, id, seen).await;
    }
    let end = loop {
        match runner.go_on().await {
            Some(message) if message["type"] == "run_end" => break message,
            Some(message) => runner.answer(&message, &mut { first }).await,
            None => {}
        }
    };
    assert_eq!(end["reason"], "done", "{end}");
    ludex(&["verify", "r"], &copy);
    climb(address, &mut climbers, 4).await;
    assert_ne!(rated_seed(address).await, seed, "the restored server reused a secret");
    server.has_not_panicked();
}

#[tokio::test]
async fn run_survives_a_kill_after_each_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (data, log, suite) = (path("data"), path("log"), path("little.toml").display().to_string());
    std::fs::write(&suite, SUITE).unwrap();
    let options = [&LIMITS[..], &["--suite", &suite]].concat();
    let server = Process::start(PROGRAM, &data, &log, None, &options);
    let address = server.address;
    let restart = |server: Process| {
        server.kill();
        Process::start(PROGRAM, &data, &log, Some(address), &options)
    };
    let request = json!({"suite": "little", "run": "r", "candidates": 2});
    let enrol = async |bot: &mut Bot| {
        let enrolled = bot.call("enrol", request.clone()).await;
        assert_eq!(enrolled["type"], "enrolled", "{enrolled}");
        enrolled["join"].clone()
    };
    let mut ann = Bot::new(address, "ann").await;
    let of_ann = enrol(&mut ann).await;
    let server = restart(server);
    ann.cut().await;
    assert_eq!(enrol(&mut ann).await, of_ann, "the entrant keeps its seat");
    let mut bob = Bot::new(address, "bob").await;
    let of_bob = enrol(&mut bob).await;
    let server = restart(server);
    ann.cut().await;
    bob.cut().await;
    assert_eq!((enrol(&mut ann).await, enrol(&mut bob).await), (of_ann, of_bob));
    let mut carl = Bot::new(address, "carl").await;
    assert_eq!(carl.call("enrol", request.clone()).await["code"], "forbidden", "the run is full");
    ann.wait("turn").await;
    assert_eq!(bob.call("withdraw", json!({"run": "r"})).await["type"], "ok");
    let server = restart(server);
    until(address, "/runs/r", "state", &json!("withdrawn")).await;
    let server = restart(server);
    until(address, "/runs/r", "state", &json!("withdrawn")).await;
    server.has_not_panicked();
}
