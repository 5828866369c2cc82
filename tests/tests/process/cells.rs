//! Servers that share the cells of a PostgreSQL store: clients find the cell of their queue, cells move between servers, and
//! the kill of a server loses no acknowledged move.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ludex_store::testing::PostgresServer;
use ludex_store::{CellTable, Store};
use ludex_tests::bot::first;
use ludex_tests::{Bot, Client, Process};
use serde_json::json;
use tokio::task::JoinSet;

use super::crash::{LIMITS, PROGRAM, holds};
use super::database::url;

/// Maximum time for the servers to divide the cells. A lease takes 6 s.
const DIVISION: Duration = Duration::from_secs(90);

const CELLS: usize = 6;

/// Matches of each of the clients, of which two share a queue.
const MATCHES: usize = 10;
const CLIENTS: usize = 40;

/// Starts a server that takes a share of the cells once another server gives it up.
fn node(folder: &Path, database: &str, k: usize) -> Process {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (data, log) = (folder.join(format!("data-{k}")), folder.join(format!("log-{k}")));
    let more = ["--store", database, "--cells", "6", "--limit", "requests_per_s=0", "--limit", "pages_per_s=100000"];
    Process::start_standby(PROGRAM, &data, &log, free, &[&LIMITS[..], &more].concat())
}

/// Waits until each cell has an owner and the owners have these numbers of cells.
async fn division(store: &Store, wanted: &[usize]) -> CellTable {
    let until = Instant::now() + DIVISION;
    loop {
        let table = store.cells().await.unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        table.owners.iter().flatten().for_each(|owner| *counts.entry(&owner.at).or_default() += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        if counts == wanted {
            return table;
        }
        assert!(Instant::now() < until, "expected {wanted:?}, got {table:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Opens the store beside its owners, once one of them has created it.
async fn open_shared(database: &str) -> Store {
    let until = Instant::now() + DIVISION;
    loop {
        match Store::open_shared(database.parse::<ludex_store::StoreLocation>().unwrap()).await {
            Ok(store) => return store,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Plays all matches of a client, and counts its accepted moves.
async fn play(mut servers: Vec<SocketAddr>, k: usize, moves: Arc<AtomicUsize>) -> Bot {
    let others = k % servers.len();
    servers.rotate_left(others);
    let mut bot = Bot::of_cells(&servers, &format!("bot-{k}")).await;
    let queue = format!("q{}", k / 2);
    let join = json!({"game": "tic_tac_toe", "rated": true, "queue": queue, "count": MATCHES, "slots": 2, "pairs": false,
        "clock": {"move_ms": 120_000}});
    bot.join_in_its_cell(join).await;
    while bot.over() < MATCHES || !bot.unanswered.is_empty() {
        let Some(message) = bot.go_on().await else { continue };
        if message["type"] == "accepted" {
            moves.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bot.answer(&message, &mut first).await;
    }
    bot
}

#[tokio::test]
async fn two_hundred_matches_in_six_cells_survive_a_kill_and_a_new_server() {
    let Some(server) = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = url(&server.database("cells"));
    let mut nodes = vec![node(folder.path(), &database, 0)];
    let store = open_shared(&database).await;
    division(&store, &[CELLS]).await;
    nodes.extend((1..3).map(|k| node(folder.path(), &database, k)));
    let table = division(&store, &[2, 2, 2]).await;
    let servers: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();

    let moves = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for k in 0..CLIENTS {
        running.spawn(play(servers.clone(), k, moves.clone()));
    }
    let more = async |count: usize| {
        let until = moves.load(Ordering::Relaxed) + count;
        while moves.load(Ordering::Relaxed) < until {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    more(300).await;
    nodes.remove(0).kill();
    // Its cells go to the two others.
    let after = division(&store, &[3, 3]).await;
    assert_ne!(table, after);
    nodes.push(node(folder.path(), &database, 3));
    division(&store, &[2, 2, 2]).await;

    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    while let Some(bot) = running.join_next().await {
        let bot = bot.expect("a bot that played to the end");
        assert_eq!(bot.matches.len(), MATCHES, "a match was lost or repeated");
        assert!(bot.resumed.iter().all(|&resumed| resumed), "{:?}", bot.resumed);
        for (id, seen) in &bot.matches {
            // Every server has the records of all cells.
            holds(nodes[0].address, id, seen).await;
            ids.insert(id.clone());
            cells.insert(id.split('_').next().unwrap().to_owned());
        }
    }
    assert_eq!(ids.len(), CLIENTS * MATCHES / 2);
    assert!(cells.len() > 3, "the queues are in {cells:?}");
    nodes.iter().for_each(Process::has_not_panicked);
    store.close().await.unwrap();
    drop((nodes, server));
}

#[tokio::test]
async fn requests_for_another_cell_name_its_url() {
    let Some(server) = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let database = url(&server.database("moved"));
    let first = node(folder.path(), &database, 0);
    let store = open_shared(&database).await;
    division(&store, &[CELLS]).await;
    let mut raw = Client::hello(first.address).await;
    assert!(raw.welcome["session"].as_str().unwrap().starts_with("s_"));
    // A match with an agent of the server needs no other cell.
    let joined = raw.call("join", json!({"game": "tic_tac_toe", "queue": "q1", "against": ["random"]})).await;
    assert_eq!(joined["type"], "joined");
    let (mut own, mut moved) = (0, BTreeSet::new());
    for k in 0..40 {
        let join = json!({"game": "tic_tac_toe", "queue": format!("q{k}")});
        let mut reply = raw.call("join", join.clone()).await;
        // The server has not yet read its own list of owners.
        while reply["code"] == "limit" && reply["after_ms"].is_number() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            reply = raw.call("join", join.clone()).await;
        }
        match reply["code"].as_str() {
            Some("moved") => {
                let (at, cell) = (reply["moved"]["at"].as_str().unwrap(), reply["moved"]["cell"].as_u64().unwrap());
                assert_eq!(at, format!("ws://{}/c/{cell}", first.address), "{reply}");
                assert_eq!((reply["retry"].as_bool(), reply["fault"].as_str()), (Some(false), Some("client")));
                moved.insert(cell);
            }
            _ => own += usize::from(reply["type"] == "joined"),
        }
    }
    assert!(own > 0 && moved.len() == CELLS - 1, "{own} {moved:?}");
    // Each cell has sessions of its own, which are resumed only there.
    let there = Client::try_greet_at(first.address, "/c/3", None, json!({})).await.unwrap();
    assert!(there.welcome["session"].as_str().unwrap().starts_with("s3_"));
    let resume = json!({"resume": {"session": there.welcome["session"], "key": there.welcome["key"]}});
    drop(there);
    let refused = Client::try_greet_at(first.address, "/ws", None, resume.clone()).await.err().unwrap();
    assert_eq!((refused["code"].as_str(), refused["moved"]["cell"].as_u64()), (Some("moved"), Some(3)));
    let again = Client::try_greet_at(first.address, "/c/3/ws", None, resume).await.unwrap();
    assert_eq!(again.welcome["resumed"], true);
    first.has_not_panicked();
    store.close().await.unwrap();
    drop((first, server));
}
