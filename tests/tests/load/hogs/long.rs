//! Minutes of work within the limits: it delays no other owner, and stops with its client or with the server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Client, Process};
use serde_json::{Value, json};

use crate::seconds_of;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");
/// Maximum time until the server is idle or has exited, on a busy machine; shorter than the work.
const PATIENCE: Duration = Duration::from_secs(30);
/// Game whose simulations each play a thousand hands.
const HOLD_EM: &str = "texas_holdem(numPlayers=6,hands=1000)";

/// Opens two environments whose agents search in every turn of every hand.
pub async fn searches(address: SocketAddr) -> Vec<Client> {
    let mut hog = Client::hello(address).await;
    for _ in 0..2 {
        let mut seats = vec!["ismcts sims=1000"; 5];
        seats.push("agent");
        let open = json!({"game": HOLD_EM, "seats": seats, "views": []});
        let env = hog.call("open", open).await["env"].clone();
        assert!(env.is_u64(), "{env}");
        hog.ask("reset", json!({"env": env})).await;
    }
    vec![hog]
}

/// Sends three steps with thousands of documents; the server judges each document by two hundred random games.
pub async fn documents(address: SocketAddr) -> Vec<Client> {
    const ROWS: usize = 4_000;
    let mut random = Stream::from_text("documents");
    let start = ludex_games::load("free_style").expect("a game").start();
    let drawn = std::iter::repeat_with(|| start.sample(0, &mut random)).flatten();
    let proposals: Vec<Value> = drawn.filter(|document| document["act"] == "propose").take(20).collect();
    let mut hogs = Vec::new();
    for k in 0..3 {
        let mut hog = Client::hello(address).await;
        let open = json!({"game": "free_style", "count": ROWS, "views": []});
        let env = hog.call("open", open).await["env"].clone();
        hog.call("reset", json!({"env": env})).await;
        let document = |row: usize| {
            let mut document = proposals[row % proposals.len()].clone();
            document["rules"]["name"] = format!("rules {k} {row}").into();
            document
        };
        let moves: Vec<Value> = (0..ROWS).map(document).collect();
        hog.ask("step", json!({"env": env, "moves": moves})).await;
        hogs.push(hog);
    }
    hogs
}

/// Joins forty matches; before each, the server plays a match of the agent against itself.
pub async fn mirrors(address: SocketAddr) -> Vec<Client> {
    let mut hog = Client::greet(address, None, json!({"agent": {"name": "hog"}})).await;
    let join = json!({"game": "texas_holdem(numPlayers=2,hands=50)", "rated": true, "slots": 40, "count": 40,
        "against": ["ismcts sims=2000"]});
    let joined = hog.call("join", join).await;
    assert_eq!(joined["type"], "joined", "{joined}");
    vec![hog]
}

/// Waits until the process uses less than a twentieth of a core.
async fn idle(process: u32) {
    let until = Instant::now() + PATIENCE;
    let spent = || {
        let (user, system) = seconds_of(process);
        user + system
    };
    loop {
        let before = spent();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let used = spent() - before;
        if used < 0.05 {
            return;
        }
        assert!(Instant::now() < until, "the server still computes: {used} CPU s in a second");
    }
}

/// Checks that a hog's work delays no other client and ends when the hog disconnects or the server stops.
async fn ends_with_client_and_server(hog: impl AsyncFn(SocketAddr) -> Vec<Client>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let server = Process::start(PROGRAM, &data, &log, None, &["--drain-timeout", "1"]);
    let hogs = hog(server.address).await;
    let mut good = Bot::new(server.address, "good").await;
    good.join(json!({"game": "tic_tac_toe", "against": ["mcts sims=50"], "count": 3})).await;
    good.play(3, first).await;
    hogs.into_iter().for_each(Client::cut);
    idle(server.id()).await;
    let _hogs = hog(server.address).await;
    server.has_not_panicked();
    server.terminate(PATIENCE);
}

#[tokio::test]
async fn endless_searches_stop_when_client_or_server_stops() {
    ends_with_client_and_server(searches).await;
}

#[tokio::test]
async fn judging_of_documents_stops_when_client_or_server_stops() {
    ends_with_client_and_server(documents).await;
}

#[tokio::test]
async fn mirror_matches_stop_when_client_or_server_stops() {
    ends_with_client_and_server(mirrors).await;
}
