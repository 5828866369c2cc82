//! Many spectators of one match: all receive the same bytes.
//!
//! `LUDEX_LOAD_WATCHERS=1000` sets the maximum number of spectators [20]; the server's cost per move is printed.
//! `LUDEX_LOAD_PACE_MS` sets the time between moves [0], and `LUDEX_BIN` names the program to test.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::time::Duration;

use ludex_env::Stream;
use ludex_tests::{Bot, Client, Process, Server};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use crate::{program, seconds_of, size_from_env};

/// Number of moves in a match; the seat to move after them resigns.
const MOVES: usize = 100;

/// Running match of gomoku.
struct Table {
    bots: [Bot; 2],
    id: Value,
}

impl Table {
    async fn new(address: SocketAddr, name: &str, rated: bool) -> Table {
        let mut bots = [Bot::new(address, &format!("{name}-a")).await, Bot::new(address, &format!("{name}-b")).await];
        for (seat, bot) in bots.iter_mut().enumerate() {
            bot.join(
                json!({"game": "gomoku", "queue": name, "seat": seat, "rated": rated, "clock": {"move_ms": 60_000}}),
            )
            .await;
        }
        let id = bots[0].wait("match_start").await["match"].clone();
        Table { bots, id }
    }

    /// Plays `moves` random moves with a pause after each and returns the number of moves.
    async fn play(&mut self, moves: usize, pause: Duration) -> usize {
        let mut random = Stream::from_text("watched");
        for at in 0..moves {
            let bot = &mut self.bots[at % 2];
            let turn = loop {
                let message = bot.next().await;
                match message["type"].as_str() {
                    Some("turn") => break message,
                    Some("match_end") => return at,
                    _ => {}
                }
            };
            let legal = turn["legal"].as_array().expect("actions");
            let mv = json!({"action": legal[random.below(legal.len())]});
            assert_eq!(bot.act(&turn, mv).await["type"], "accepted");
            tokio::time::sleep(pause).await;
        }
        moves
    }

    /// Adds a spectator to the match.
    async fn watcher(&self, address: SocketAddr, views: &Value) -> Client {
        let mut watcher = Client::hello(address).await;
        let mut watch = json!({"match": self.id});
        if views.is_array() {
            watch["views"] = views.clone();
        }
        assert_eq!(watcher.call("spectate", watch).await["type"], "ok");
        watcher
    }
}

/// Reads a spectator's frames until the end of the match; returns their number and digest.
async fn receive_all(mut watcher: Client) -> (usize, u64) {
    let (mut frames, mut bytes) = (0, DefaultHasher::new());
    loop {
        let frame = watcher.next_frame().await.expect("a frame");
        let Message::Text(text) = frame else { panic!("{frame:?}") };
        frames += 1;
        text.as_bytes().hash(&mut bytes);
        if text.contains("\"match_end\"") {
            return (frames, bytes.finish());
        }
    }
}

#[tokio::test]
async fn all_spectators_receive_equal_frames() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let limits = ["--limit", "address_hellos=8192", "--limit", "address_connections=16384"];
    let server = Process::start(&program(), &folder.path().join("data"), &folder.path().join("log"), None, &limits);
    let pause = Duration::from_millis(size_from_env("LUDEX_LOAD_PACE_MS", 0) as u64);
    let most = size_from_env("LUDEX_LOAD_WATCHERS", 20);
    for (views, count) in [json!(null), json!(["picture"])].iter().flat_map(|v| [0, 10, most].map(|n| (v, n))) {
        let mut table = Table::new(server.address, &format!("{count}-{}", views.is_array()), false).await;
        let mut watchers = JoinSet::new();
        for _ in 0..count {
            watchers.spawn(receive_all(table.watcher(server.address, views).await));
        }
        let before = seconds_of(server.id());
        let moves = table.play(MOVES, pause).await;
        table.bots[moves % 2].call("resign", json!({"match": table.id})).await;
        let all = watchers.join_all().await;
        let after = seconds_of(server.id());
        assert!(all.iter().all(|heard| *heard == all[0] && heard.0 > moves), "{moves} moves: {all:?}");
        let each = |from: f64, to: f64| (to - from) * 1e3 / moves as f64;
        let (user, system) = (each(before.0, after.0), each(before.1, after.1));
        println!(
            "{count:>5} watchers, views {views}: {moves} moves, {:.3} ms of a core each ({user:.3} user, {system:.3} system)",
            user + system
        );
    }
    server.has_not_panicked();
}

#[tokio::test]
async fn buffered_events_arrive_while_the_match_waits() {
    /// Number of watchers whose events are buffered.
    const CROWD: usize = 40;
    let server = Server::start(|config| config.limits.address_hellos = 1_000).await;
    let mut table = Table::new(server.address, "slow", true).await;
    let mut watchers = Vec::new();
    for _ in 0..CROWD {
        watchers.push(table.watcher(server.address, &Value::Null).await);
    }
    table.play(2, Duration::ZERO).await;
    for watcher in &mut watchers {
        let mut moves = 0;
        while moves < 2 {
            let next = tokio::time::timeout(Duration::from_secs(20), watcher.hear()).await.expect("an event");
            moves += usize::from(next["kind"] == "move");
        }
    }
    server.stop().stopped().await;
}
