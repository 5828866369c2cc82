//! Wait for a player's turn without load, and while many other matches run on the same server.
//!
//! `LUDEX_LOAD_MATCHES=200` sets the number of other matches [5], `LUDEX_LOAD_SECONDS` the duration of each phase
//! [0.5], `LUDEX_LOAD_THINK_MS` the time that the other players take per move [100]. `LUDEX_BIN` names the program to
//! test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ludex_tests::bot::{act, first};
use ludex_tests::{Bot, Process};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{program, quantile, size_from_env};

/// Clock per move in ms, longer than any move takes.
const LONG: u32 = 600_000;

/// State shared by the load-generating clients.
#[derive(Default)]
struct Others {
    /// Number of clients that have started to play.
    begun: AtomicUsize,
    over: AtomicBool,
}

/// Plays matches in a queue shared with one opponent until the end, taking `think` per move. Returns the number of
/// matches.
async fn other(address: SocketAddr, name: String, queue: String, think: Duration, others: Arc<Others>) -> usize {
    let mut bot = Bot::new(address, &name).await;
    let join = bot
        .join(json!({"game": "connect_four", "queue": queue, "rated": true, "count": 0, "clock": {"move_ms": LONG}}))
        .await;
    let mut left = false;
    while !(left && bot.over() == bot.matches.len()) {
        if others.over.load(Relaxed) && !left {
            left = true;
            let answer = bot.call("leave", json!({"join": join})).await;
            assert_eq!(answer["type"], "ok", "{answer}");
        }
        let Ok(message) = tokio::time::timeout(Duration::from_millis(200), bot.next()).await else { continue };
        assert!(!matches!(message["type"].as_str(), Some("error" | "refused" | "resync")), "{message}");
        if message["type"] == "match_start" && bot.matches.len() == 1 {
            others.begun.fetch_add(1, Relaxed);
        }
        if message["type"] == "turn" {
            tokio::time::sleep(think).await;
            let mv = first(&message);
            bot.client.ask("act", act(&message, mv)).await;
        }
    }
    assert!(bot.matches.values().all(|seen| seen.end["reason"] == "finished"));
    bot.matches.len()
}

/// Player in rated matches against an agent that replies immediately.
struct Player {
    bot: Bot,
    /// Pending turn of the player.
    turn: Option<Value>,
}

impl Player {
    /// Plays for the duration `long` and returns the milliseconds from each of its moves to its next turn.
    async fn play_turns(&mut self, long: Duration) -> Vec<f64> {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < long {
            let turn = match self.turn.take() {
                Some(turn) => turn,
                None => self.bot.wait("turn").await,
            };
            let from = Instant::now();
            self.bot.client.ask("act", act(&turn, first(&turn))).await;
            loop {
                let message = self.bot.next().await;
                match message["type"].as_str() {
                    Some("turn") => {
                        times.push(from.elapsed().as_secs_f64() * 1e3);
                        self.turn = Some(message);
                        break;
                    }
                    Some("match_end") => break,
                    Some("error" | "refused" | "resync") => panic!("{message}"),
                    _ => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times
    }
}

#[tokio::test]
async fn player_gets_turns_while_many_matches_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&program(), &folder.path().join("data"), &folder.path().join("log"), None, &[]);
    let (matches, address) = (size_from_env("LUDEX_LOAD_MATCHES", 5), server.address);
    let seconds = std::env::var("LUDEX_LOAD_SECONDS").ok().map_or(0.5, |text| text.parse().expect("seconds"));
    let (long, think) =
        (Duration::from_secs_f64(seconds), Duration::from_millis(size_from_env("LUDEX_LOAD_THINK_MS", 100) as u64));
    let mut player = Player { bot: Bot::new(address, "player").await, turn: None };
    player.bot.join(json!({"game": "connect_four", "rated": true, "count": 0, "against": ["random"], "clock": {"move_ms": LONG}})).await;
    let alone = player.play_turns(long).await;
    let (others, mut playing) = (Arc::new(Others::default()), JoinSet::new());
    for k in 0..2 * matches {
        playing.spawn(other(address, format!("other-{k}"), format!("table-{}", k / 2), think, others.clone()));
    }
    while others.begun.load(Relaxed) < 2 * matches {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let beside = player.play_turns(long).await;
    others.over.store(true, Relaxed);
    let played: usize = playing.join_all().await.iter().sum();
    assert!(!alone.is_empty() && !beside.is_empty() && played >= 2 * matches);
    for (name, mut times) in [("alone".to_owned(), alone), (format!("beside {matches} matches"), beside)] {
        times.sort_unstable_by(f64::total_cmp);
        let at = |share| quantile(&times, share);
        println!(
            "{name:<22} {:>6} turns, p50 {:7.2} ms, p99 {:7.2} ms, longest {:7.2} ms",
            times.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    server.has_not_panicked();
}
