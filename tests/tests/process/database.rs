//! Servers on a PostgreSQL database: kills and pauses of servers, and crashes of the database, lose no acknowledged move.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ludex_store::testing::PostgresServer;
use ludex_store::{Store, StoreLocation};
use ludex_tests::balancer::{Balancer, is_ready};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Process};
use serde_json::json;
use tokio::task::JoinSet;

use super::crash::{LIMITS, PROGRAM, check_rated, crashes, holds, twenty};

/// Maximum time until another node is ready. A lease takes 6 s.
const TAKEOVER: Duration = Duration::from_secs(60);

/// Matches of each of the clients, of which two share a queue.
const MATCHES: usize = 20;
const CLIENTS: usize = 20;

pub(super) fn url(location: &StoreLocation) -> String {
    match location {
        StoreLocation::Postgres(url) => url.clone(),
        StoreLocation::Sqlite(_) => unreachable!("the tests use PostgreSQL"),
    }
}

/// Returns the start of servers that use one database, each with a data folder of its own, as on another machine.
fn nodes(folder: &Path, url: String) -> impl Fn(u64, Option<SocketAddr>) -> Process + Send + Sync + 'static {
    let folder = folder.to_owned();
    move |kills, address| {
        let options = [&LIMITS[..], &["--store", &url]].concat();
        Process::start(PROGRAM, &folder.join(format!("data-{kills}")), &folder.join("log"), address, &options)
    }
}

#[tokio::test]
async fn rated_matches_continue_on_another_node() {
    let Some(server) = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = server.database("nodes");
    let (bots, node) = crashes(nodes(folder.path(), url(&database)), twenty(true, 7), 2, 7).await;
    assert!(bots.iter().map(|bot| bot.resumed.len()).sum::<usize>() >= 2, "the kills hit running matches");
    check_rated(&bots, &node).await;
    // A stopped server gives up its lease, so that the next one need not wait.
    let stopped = tokio::task::spawn_blocking(move || node.terminate(Duration::from_secs(60)));
    stopped.await.unwrap();
    Store::open(&database).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn matches_wait_for_a_database_that_crashes() {
    let Some(mut server) = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = server.database("crashes");
    let crashing = tokio::task::spawn_blocking(move || {
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(700));
            server.crash();
        }
        server
    });
    let (bots, node) = crashes(nodes(folder.path(), url(&database)), twenty(true, 8), 0, 8).await;
    let server = crashing.await.unwrap();
    check_rated(&bots, &node).await;
    drop((node, server));
}

/// Returns the index of the only ready node.
async fn ready(nodes: &[Process]) -> usize {
    let until = Instant::now() + TAKEOVER;
    loop {
        for (k, node) in nodes.iter().enumerate() {
            if is_ready(node.address).await {
                return k;
            }
        }
        assert!(Instant::now() < until, "no node is ready");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Plays all matches of a client, and counts its accepted moves.
async fn play(address: SocketAddr, k: usize, moves: Arc<AtomicUsize>) -> Bot {
    let mut bot = Bot::new(address, &format!("bot-{k}")).await;
    let queue = format!("q{}", k / 2);
    let join = json!({"game": "tic_tac_toe", "rated": true, "queue": queue, "count": MATCHES, "slots": 2, "pairs": false,
        "clock": {"move_ms": 120_000}});
    bot.join(join).await;
    while bot.over() < MATCHES || !bot.unanswered.is_empty() {
        let Some(message) = bot.go_on().await else { continue };
        if message["type"] == "accepted" {
            moves.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bot.answer(&message, &mut first).await;
    }
    bot
}

/// Three nodes, of which one serves: it is killed, its successor is paused and continued, and the third one finishes.
#[tokio::test]
async fn two_hundred_matches_survive_a_kill_and_a_pause() {
    let Some(server) = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = url(&server.database("cluster"));
    let options =
        [&LIMITS[..], &["--store", &database, "--limit", "requests_per_s=0", "--limit", "pages_per_s=100000"]].concat();
    let mut nodes: Vec<Process> = (0..3)
        .map(|k| {
            let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let (data, log) = (folder.path().join(format!("data-{k}")), folder.path().join(format!("log-{k}")));
            Process::start_standby(PROGRAM, &data, &log, free, &options)
        })
        .collect();
    let balancer = Balancer::start(nodes.iter().map(|node| node.address).collect()).await;
    ready(&nodes).await;
    // The balancer needs a probe to know.
    while !is_ready(balancer.address).await {}
    let moves = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for k in 0..CLIENTS {
        running.spawn(play(balancer.address, k, moves.clone()));
    }
    let more = async |count: usize| {
        let until = moves.load(Ordering::Relaxed) + count;
        while moves.load(Ordering::Relaxed) < until {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    more(300).await;
    let first = nodes.remove(ready(&nodes).await);
    first.kill();
    more(300).await;
    let mut paused = nodes.remove(ready(&nodes).await);
    paused.signal("STOP");
    // The third node serves, so the second one has lost its lease.
    let third = ready(&nodes).await;
    more(100).await;
    paused.signal("CONT");
    let succeeded = tokio::task::spawn_blocking(move || paused.wait(TAKEOVER)).await.unwrap();
    assert!(!succeeded, "a server without its lease must fail");
    let mut ids = std::collections::BTreeSet::new();
    while let Some(bot) = running.join_next().await {
        let bot = bot.expect("a bot that played to the end");
        assert_eq!(bot.matches.len(), MATCHES, "a match was lost or repeated");
        assert!(bot.resumed.len() >= 2 && bot.resumed.iter().all(|&resumed| resumed), "{:?}", bot.resumed);
        for (id, seen) in &bot.matches {
            holds(nodes[third].address, id, seen).await;
            ids.insert(id.clone());
        }
    }
    assert_eq!(ids.len(), CLIENTS * MATCHES / 2);
    nodes[third].has_not_panicked();
    drop((balancer, server));
}
