//! Backups of a server in the middle of play: restored elsewhere, all matches and runs continue.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use ludex_tests::bot::first;
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
    std::fs::write(&suite, SUITE).unwrap();
    let options = [&LIMITS[..], &["--suite", &suite]].concat();
    let server = Process::start(PROGRAM, &data, &log, None, &options);
    let address = server.address;

    let (mut x, mut o) = (Bot::new(address, "x").await, Bot::new(address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "rated": true, "seat": seat, "clock": {"move_ms": 600_000}})).await;
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
    for bot in [&mut x, &mut o, &mut runner] {
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
    assert_ne!(rated_seed(address).await, seed, "the restored server reused a secret");
    server.has_not_panicked();
}
