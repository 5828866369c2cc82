//! `kill -9` of a server process in the middle of matches: no acknowledged move is lost, and all matches finish.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ludex_env::Stream;
use ludex_env::check::scaled;
use ludex_protocol::record::RecordParts;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_tests::bot::BotMatch;
use ludex_tests::{Bot, Process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, watch};
use tokio::task::JoinSet;

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Options of a server that reserves the seats of disconnected clients for longer than a test takes.
pub(super) const LIMITS: [&str; 2] = ["--limit", "grace_ms=120000"];

async fn page(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

/// Client that plays one match, with a short pause after each move, so that the server is killed during the match.
pub(super) struct Play {
    name: String,
    joins: Value,
    seed: u64,
}

/// State that all clients share.
struct Shared {
    /// Barrier until all clients have joined: a crash may lose the sessions of clients that have not.
    joined: Barrier,
    /// Number of accepted moves.
    moves: AtomicUsize,
    /// Number of clients that play.
    playing: watch::Sender<usize>,
}

impl Play {
    /// Plays until no client plays any more. A crash may lose an unrated match whose end this client has seen and an
    /// opponent has not. Then they all play again.
    async fn run(self, address: SocketAddr, shared: Arc<Shared>) -> Bot {
        let mut rng = Stream::from_text(&format!("{}:{}", self.name, self.seed));
        let mut bot = Bot::new(address, &self.name).await;
        bot.join(self.joins).await;
        shared.joined.wait().await;
        let mut choose = |turn: &Value| {
            let legal = turn["legal"].as_array().expect("legal actions");
            json!({"action": legal[rng.below(legal.len())]})
        };
        let (mut counted, mut all_over) = (true, shared.playing.subscribe());
        loop {
            let plays = bot.over() < 1 || !bot.unanswered.is_empty();
            if counted != plays {
                shared.playing.send_modify(|n| *n = if plays { *n + 1 } else { *n - 1 });
                counted = plays;
            }
            let message = tokio::select! {
                biased;
                _ = all_over.wait_for(|playing| *playing == 0) => return bot,
                message = bot.go_on() => message,
            };
            let Some(message) = message else { continue };
            if message["type"] == "match_start" && bot.over() > 0 {
                bot.matches.retain(|id, _| message["match"] == id.as_str());
                bot.lost += 1;
            }
            if message["type"] == "accepted" {
                shared.moves.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(8)).await;
            }
            bot.answer(&message, &mut choose).await;
        }
    }
}

/// Starts a server and the clients, and kills the server `kills` times at random moments. `start` gets the number of kills
/// so far, and the address of the server. Returns the clients and the last server process.
pub(super) async fn crashes(
    start: impl Fn(u64, Option<SocketAddr>) -> Process + Send + Sync + 'static,
    plays: Vec<Play>,
    kills: u64,
    seed: u64,
) -> (Vec<Bot>, Process) {
    let start = Arc::new(start);
    let mut server = start(0, None);
    let (address, count) = (server.address, plays.len());
    let (joined, playing) = (Barrier::new(count), watch::Sender::new(count));
    let shared = Arc::new(Shared { joined, moves: AtomicUsize::new(0), playing });
    let mut running = JoinSet::new();
    for play in plays {
        running.spawn(play.run(address, shared.clone()));
    }
    let mut rng = Stream::from_text(&format!("ludex-tests:crash:{seed}"));
    for kill in 1..=kills {
        // Kills the server some moves after the previous kill, at a random point within a move.
        let (until, mut patience) = (shared.moves.load(Ordering::Relaxed) + 10 + rng.below(60), 1_000);
        while shared.moves.load(Ordering::Relaxed) < until && patience > 0 && !running.is_empty() {
            tokio::time::sleep(Duration::from_millis(3)).await;
            patience -= 1;
        }
        tokio::time::sleep(Duration::from_micros(rng.below(8_000) as u64)).await;
        tokio::task::spawn_blocking(move || server.kill()).await.expect("its end");
        let start = start.clone();
        let again = move || start(kill, Some(address));
        server = tokio::task::spawn_blocking(again).await.expect("a server");
    }
    let mut bots = Vec::new();
    while let Some(bot) = running.join_next().await {
        bots.push(bot.expect("a bot that played to the end"));
    }
    (bots, server)
}

/// Checks that the record of a match verifies and contains all events that this seat received, in the same order.
pub(super) async fn holds(address: SocketAddr, id: &str, seen: &BotMatch) {
    let line = page(address, &format!("/episodes/{id}")).await;
    let parts = RecordParts::parse(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
    Verifier::new(ludex_games::builtin())
        .verify(&parts, Source::default())
        .unwrap_or_else(|fault| panic!("{fault}: {line}"));
    let record: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&record["reason"], &seen.end["reason"]), (&json!("finished"), &json!("finished")), "{record}");
    assert_eq!((&record["returns"], &record["seed"]), (&seen.end["returns"], &seen.end["seed"]));
    let all = record["events"].as_array().expect("events");
    let own = all.iter().filter(|e| e["kind"] == "move" && e["seat"] == seen.start["seat"]);
    let own: Vec<(u64, &Value)> = own.map(|e| (e["turn"].as_u64().expect("a turn"), &e["action"])).collect();
    let accepted: Vec<(u64, &Value)> = seen.accepted.iter().map(|(&turn, action)| (turn, action)).collect();
    assert_eq!(own, accepted, "{record}");
    // Every move event, including the opponent's, equals the event that the seat received.
    let moves: Vec<&Value> = all.iter().filter(|e| e["kind"] == "move").map(|e| &e["action"]).collect();
    let shown: Vec<&Value> = seen.of_kind("move").map(|e| &e["action"]).collect();
    assert_eq!(moves, shown, "{record}");
}

/// Returns the start of servers that use one data folder, one after the other.
fn in_folder(folder: &Path) -> impl Fn(u64, Option<SocketAddr>) -> Process + Send + Sync + 'static {
    let (data, log) = (folder.join("data"), folder.join("log"));
    move |_, address| Process::start(PROGRAM, &data, &log, address, &LIMITS)
}

/// Checks that the clients of `crashes` resumed all sessions, and that the records of their matches hold all they saw.
pub(super) async fn check_rated(bots: &[Bot], server: &Process) {
    let mut matches = std::collections::BTreeSet::new();
    for bot in bots {
        assert!(bot.resumed.iter().all(|&r| r), "every session was resumed");
        let (id, seen) = bot.only();
        holds(server.address, id, seen).await;
        matches.insert(id.to_owned());
    }
    assert_eq!(matches.len(), 20);
    let listed: Value = serde_json::from_str(&page(server.address, "/matches").await).unwrap();
    assert_eq!(listed["matches"], json!([]), "nothing runs any more");
    server.has_not_panicked();
}

/// Creates twenty parallel clients: half of them play each other, half play the server's built-in agent.
pub(super) fn twenty(rated: bool, seed: u64) -> Vec<Play> {
    let games = ["tic_tac_toe", "connect_four", "kuhn_poker(players=3)"];
    let mut plays = Vec::new();
    for k in 0..20 {
        let game = games[k % games.len()];
        let join = json!({"game": game, "rated": rated, "queue": format!("q{k}"), "clock": {"move_ms": 60_000}});
        let seats = if k % 2 == 1 { 1 } else { 2 + usize::from(game.starts_with("kuhn")) };
        for seat in 0..seats {
            let mut joins = join.clone();
            joins["seat"] = seat.into();
            if seats == 1 {
                joins["against"] = json!(["random"]);
            }
            plays.push(Play { name: format!("bot-{k}-{seat}"), joins, seed });
        }
    }
    plays
}

#[tokio::test]
async fn rated_matches_keep_acknowledged_moves() {
    for seed in 0..scaled(1) {
        let folder = tempfile::tempdir().unwrap();
        let (bots, server) = crashes(in_folder(folder.path()), twenty(true, seed), 4, seed).await;
        assert!(bots.iter().map(|b| b.resumed.len()).sum::<usize>() >= 4, "the crashes hit running matches");
        check_rated(&bots, &server).await;
    }
}

#[tokio::test]
async fn unrated_matches_finish_after_crash() {
    for seed in 0..scaled(1) {
        let folder = tempfile::tempdir().unwrap();
        let (bots, server) = crashes(in_folder(folder.path()), twenty(false, seed), 3, 1_000 + seed).await;
        let hit: usize = bots.iter().map(|bot| bot.lost + bot.only().1.resyncs as usize).sum();
        assert!(hit > 0, "the crashes hit running matches");
        let mut stored = 0;
        for bot in &bots {
            assert!(bot.resumed.iter().all(|&r| r), "every session was resumed");
            let (id, seen) = bot.only();
            // A match that ended just before a crash may be unknown.
            if serde_json::from_str::<Value>(&page(server.address, &format!("/episodes/{id}")).await).unwrap()["code"]
                .is_null()
            {
                holds(server.address, id, seen).await;
                stored += 1;
            }
        }
        assert!(stored > 0, "matches after the last crash are stored");
        server.has_not_panicked();
    }
}

#[tokio::test]
async fn unsent_match_end_is_sent_after_crash() {
    end_is_told_after_the_crash(true).await;
}

#[tokio::test]
async fn unrated_match_end_is_sent_from_record() {
    end_is_told_after_the_crash(false).await;
}

async fn end_is_told_after_the_crash(rated: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let server = Process::start(PROGRAM, &data, &log, None, &LIMITS);
    let address = server.address;
    let (mut x, mut o) = (Bot::new(address, "x").await, Bot::new(address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "queue": "q", "rated": rated, "seat": seat})).await;
    }
    let turn = x.wait("turn").await;
    x.act(&turn, json!({"action": 4})).await;
    // One client is absent while its opponent resigns, and the server is killed right after the resignation.
    let id = o.wait("turn").await["match"].as_str().unwrap().to_owned();
    x.client.socket().shutdown().await.unwrap();
    o.wait("event").await;
    assert_eq!(o.call("resign", json!({"match": id})).await["type"], "ok");
    o.wait("match_end").await;
    if !rated {
        // Waits until the match is on disk: its page is read from the store.
        page(address, &format!("/episodes/{id}")).await;
    }
    server.kill();
    let server = Process::start(PROGRAM, &data, &log, Some(address), &LIMITS);
    for bot in [&mut x, &mut o] {
        bot.cut().await;
        assert_eq!(bot.resumed.last(), Some(&true));
    }
    let told = x.wait("resync").await;
    assert_eq!((&told["end"]["reason"], &told["end"]["at_fault"]), (&json!("resign"), &json!(1)), "{told}");
    assert_eq!(told["end"]["outcome"], json!(["win", "loss"]));
    assert_eq!(x.act(&turn, json!({"action": 4})).await["type"], "accepted", "as it was before the crash");
    assert_eq!(x.act(&turn, json!({"action": 3})).await["code"], "conflict");
    let record: Value = serde_json::from_str(&page(address, &format!("/episodes/{id}")).await).unwrap();
    assert_eq!((&record["digest"], &record["seed"]), (&told["end"]["digest"], &told["end"]["seed"]));
    server.has_not_panicked();
}

#[tokio::test]
async fn reclaiming_session_survives_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let server = Process::start(PROGRAM, &data, &log, None, &LIMITS);
    let address = server.address;
    let mut y = Bot::new(address, "y").await;
    y.join(json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0, "rated": true, "clock": {"bank_ms": 0}}))
        .await;
    y.wait("turn").await;
    let hello = json!({"agent": {"name": "y"}, "reclaim": true});
    let mut z = Bot::with(address, None, hello).await;
    let before = z.wait("resync").await;
    server.kill();
    let server = Process::start(PROGRAM, &data, &log, Some(address), &LIMITS);
    z.cut().await;
    assert_eq!(z.resumed, [true]);
    let after = z.wait("resync").await;
    assert_eq!((&after["match"], &after["turn"]["legal"]), (&before["match"], &before["turn"]["legal"]));
    z.answer(&after, &mut ludex_tests::bot::first).await;
    z.play(1, ludex_tests::bot::first).await;
    server.has_not_panicked();
}

#[tokio::test]
async fn idle_resumed_session_survives_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let server = Process::start(PROGRAM, &data, &log, None, &LIMITS);
    let address = server.address;
    let mut bot = Bot::new(address, "idle").await;
    bot.cut().await;
    server.kill();
    let server = Process::start(PROGRAM, &data, &log, Some(address), &LIMITS);
    bot.cut().await;
    assert_eq!(bot.resumed, [true, true]);
    server.has_not_panicked();
}

/// Number of matches that run when the server is killed.
const MANY: usize = 2_000;
/// Number of clients that play the matches.
const CLIENTS: usize = 20;

#[tokio::test]
async fn many_rated_matches_survive_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let slots = MANY / CLIENTS;
    let limits = ["--limit", "grace_ms=120000", "--limit", "owner_matches=4000", "--limit", "requests_per_s=0"];
    let server = Process::start(PROGRAM, &data, &log, None, &limits);
    let address = server.address;
    let mut bots = Vec::new();
    for k in 0..CLIENTS {
        let mut bot = Bot::new(address, &format!("bot-{k}")).await;
        bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0, "rated": true, "count": slots,
            "slots": slots, "clock": {"move_ms": 600_000}}))
            .await;
        bots.push(bot);
    }
    // One move in each match is acknowledged, and the next one is sent when the server is killed.
    for bot in &mut bots {
        while bot.matches.values().filter(|seen| !seen.turn.is_null()).count() < slots {
            bot.next().await;
        }
        let turns: Vec<Value> = bot.matches.values().map(|seen| seen.turn.clone()).collect();
        for turn in &turns {
            bot.ask("act", ludex_tests::bot::act(turn, json!({"action": turn["legal"][0]}))).await;
        }
        while bot.matches.values().filter(|seen| !seen.accepted.is_empty()).count() < slots {
            bot.next().await;
        }
    }
    tokio::task::spawn_blocking(move || server.kill()).await.expect("its end");
    let again = move || Process::start(PROGRAM, &data, &log, Some(address), &limits);
    let server = tokio::task::spawn_blocking(again).await.expect("a server");
    let mut verified = 0;
    for bot in &mut bots {
        bot.cut().await;
        while bot.over() < slots {
            let Some(message) = bot.go_on().await else { continue };
            bot.answer(&message, &mut ludex_tests::bot::first).await;
        }
        for (id, seen) in bot.matches.iter().take(5) {
            holds(address, id, seen).await;
            verified += 1;
        }
        assert_eq!(bot.matches.len(), slots, "a match was lost or repeated");
    }
    assert_eq!(verified, 5 * CLIENTS);
    server.has_not_panicked();
}
