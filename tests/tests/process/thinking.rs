//! Built-in agents that think for long: other requests are not delayed, and the agents' clocks run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use ludex_tests::{Bot, Client, Server};
use serde_json::json;

/// Chess engine that never answers a search.
const SLEEPER: &str = "#!/bin/sh
while read -r line; do
  case \"$line\" in
    uci) echo uciok ;;
    isready) echo readyok ;;
    quit) exit ;;
  esac
done
";

/// Starts a server with one worker that offers the sleeping engine; `agent_ms` is the time limit per turn of the engine
/// in matches without a clock.
async fn server(folder: &std::path::Path, agent_ms: u64) -> Server {
    let program = folder.join("sleeper");
    fs::write(&program, SLEEPER).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let spec = format!("uci cmd=\"{}\" sandbox=false", program.display());
    Server::start(|config| {
        config.opponents.named.insert("sleeper".into(), spec);
        config.opponents.agent_ms = agent_ms;
    })
    .await
}

/// Starts a match of chess against the sleeping engine, which is to move. Seat 1 has White and moves first.
async fn bot_with_turn(server: &Server, clock: serde_json::Value) -> Bot {
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "chess", "against": ["sleeper"], "seat": 1, "clock": clock})).await;
    let turn = bot.wait("turn").await;
    let first = turn["legal"][0].clone();
    assert_eq!(bot.act(&turn, json!({"action": first})).await["type"], "accepted");
    bot
}

#[tokio::test]
async fn gym_batches_step_while_agents_think() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path(), 600_000).await;
    let mut bots = Vec::new();
    for _ in 0..4 {
        bots.push(bot_with_turn(&server, json!({"move_ms": 600_000})).await);
    }
    let mut gym = Client::hello(server.address).await;
    let opened = gym.call("open", json!({"game": "connect_four", "count": 4096})).await;
    assert_eq!(opened["type"], "opened", "{opened}");
    gym.call("reset", json!({"env": opened["env"], "seed": "1"})).await;
    for k in 0..20 {
        let batch = gym.call("step", json!({"env": opened["env"], "actions": vec![k % 7; 4096]})).await;
        assert_eq!(batch["type"], "batch", "{batch}");
    }
    assert_eq!(server.hub.live_matches(), 4, "the agents still think");
    // The shutdown is not awaited: it would wait for the agents, which think for ten minutes.
}

#[tokio::test]
async fn slow_agents_lose_on_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path(), 600_000).await;
    let mut bots = Vec::new();
    for _ in 0..4 {
        bots.push(bot_with_turn(&server, json!({"move_ms": 4_000})).await);
    }
    for bot in &mut bots {
        let end = bot.wait("match_end").await;
        assert_eq!((&end["reason"], &end["at_fault"]), (&json!("timeout"), &json!(0)), "{end}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn agent_without_clock_gets_server_time_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path(), 800).await;
    let mut bot = bot_with_turn(&server, json!({"bank_ms": 0})).await;
    let end = tokio::time::timeout(Duration::from_secs(60), bot.wait("match_end")).await.expect("an end");
    assert_eq!((&end["reason"], &end["at_fault"]), (&json!("timeout"), &json!(0)), "{end}");
    server.stop().stopped().await;
}
