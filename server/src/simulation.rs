//! Simulation of a server, its clients, network and disk in one thread and in simulated time. A seed determines the faults:
//! delays and cuts of connections, slow commits, a disk that is full or fails for minutes, jumps of the wall clock, and
//! crashes before and after a commit. The clients are those of `ludex-client`.
//!
//! Checked for every seed: all matches end, none by a lapse of time or a fault of the server; every acknowledged move is in
//! the record of its match, once and in order; records of rated matches verify.

mod client;
mod network;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ludex_arena::metrics::Metrics;
use ludex_gym::compute::inline;
use ludex_play::time::testing;
use ludex_protocol::record::RecordParts;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_store::Store;
use ludex_store::testing::{CommitFate, DiskFault, MemoryDatabase, seed_random_bytes};
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::config::Config;
use crate::http::local;
use crate::peer::Peer;
use crate::server_state::ServerState;
use client::{Played, SimulatedPlayer};
use network::SimulatedNetwork;

/// Maximum simulated time of a seed. Matches take minutes, and crashes at most as long.
const PATIENCE: Duration = Duration::from_secs(3 * 3_600);

/// Time for which the server reserves the seats of an absent client.
const GRACE: Duration = Duration::from_secs(3_600);

/// Time after which the ends of all matches are on disk, unless the server crashes meanwhile.
const BEHIND: Duration = Duration::from_secs(5);

/// Largest jump of the wall clock in milliseconds: ten days.
const JUMP_MS: i64 = 864_000_000;

/// Crashes of a server in one simulation.
const CRASHES: usize = 3;

/// Runs a simulation for each seed, and panics at the first fault.
fn simulate(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        eprintln!("seed {seed}");
        runtime.block_on(Simulation::new(seed).run());
    }
}

struct Simulation {
    rng: SmallRng,
    database: MemoryDatabase,
    network: SimulatedNetwork,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        seed_random_bytes(seed);
        inline::set();
        let mut rng = SmallRng::seed_from_u64(seed);
        let network = SimulatedNetwork::new(SmallRng::seed_from_u64(rng.random()));
        Simulation { rng, database: MemoryDatabase::new(), network }
    }

    async fn run(mut self) {
        let players = self.players();
        let mut playing = JoinSet::new();
        for player in players {
            playing.spawn(player.play());
        }
        let played = async {
            let mut played = Vec::new();
            while let Some(player) = playing.join_next().await {
                played.push(player.expect("a player that does not panic"));
            }
            tokio::time::sleep(BEHIND).await;
            played
        };
        let network = self.network.clone();
        let database = self.database.clone();
        let lives = async {
            for crash in 0.. {
                testing::adopt_wall_clock();
                let commits = if crash < CRASHES { Some(self.rng.random_range(1..120)) } else { None };
                self.live(commits).await;
                self.network.disconnect();
                tokio::time::sleep(Duration::from_millis(self.rng.random_range(0..60_000))).await;
            }
        };
        let played = tokio::select! {
            played = tokio::time::timeout(PATIENCE, played) => played.expect("all matches end"),
            () = lives => unreachable!("the lives have no end"),
        };
        network.disconnect();
        check(&database, &played).await;
    }

    /// Returns the players: some meet each other, and some play an agent of the server.
    fn players(&mut self) -> Vec<SimulatedPlayer> {
        let games = ["tic_tac_toe", "kuhn_poker", "iterated_prisoners_dilemma(max_game_length=3)"];
        let mut players = Vec::new();
        for k in 0..3 {
            let game = games[self.rng.random_range(0..games.len())];
            let count = self.rng.random_range(1..4);
            let is_rated = self.rng.random_bool(0.7);
            let seats = if k == 2 { 1 } else { 2 };
            for seat in 0..seats {
                players.push(SimulatedPlayer {
                    name: format!("p{k}{seat}"),
                    game: game.to_owned(),
                    queue: format!("q{k}"),
                    is_alone: seats == 1,
                    is_rated,
                    count,
                    network: self.network.clone(),
                    rng: SmallRng::seed_from_u64(self.rng.random()),
                });
            }
        }
        players
    }

    /// Serves until the process crashes at a commit; `None`: without an end.
    async fn live(&mut self, commits: Option<u32>) {
        let crashed = Arc::new(Notify::new());
        let (fate, crash) = (fates(SmallRng::seed_from_u64(self.rng.random()), commits), crashed.clone());
        let store = self.database.open(fate, move || crash.notify_one()).await.expect("a store in memory");
        let (streams, incoming) = mpsc::unbounded_channel();
        self.network.connect(streams);
        // Dropped at the crash, with all tasks of the server.
        let server = LocalSet::new();
        let mut rng = SmallRng::seed_from_u64(self.rng.random());
        let jumps = async {
            loop {
                tokio::time::sleep(Duration::from_secs(rng.random_range(0..600))).await;
                testing::jump_wall_clock(rng.random_range(-JUMP_MS..JUMP_MS));
            }
        };
        tokio::select! {
            biased;
            () = crashed.notified() => {}
            _ = server.run_until(serve(store, incoming)) => {}
            () = jumps => {}
        }
    }
}

/// Returns the fates of commits: most are quick, some take seconds or minutes, and the last one crashes. Now and then, all
/// commits fail for a time.
fn fates(mut rng: SmallRng, commits: Option<u32>) -> impl FnMut(usize) -> CommitFate + Send + 'static {
    let mut left = commits;
    let mut fault: Option<(DiskFault, Instant)> = None;
    move |_| {
        if rng.random_bool(0.005) {
            let kind = DiskFault::ALL[rng.random_range(0..DiskFault::ALL.len())];
            fault = Some((kind, Instant::now() + Duration::from_secs(rng.random_range(0..300))));
        }
        match fault {
            Some((kind, until)) if Instant::now() < until => return CommitFate::Failed(kind),
            // What could not be stored meanwhile is stored first, so that a crash removes no more than a second.
            Some((_, until)) if Instant::now() < until + BEHIND => return CommitFate::Stored(Duration::ZERO),
            _ => {}
        }
        if let Some(left) = &mut left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return if rng.random() { CommitFate::CrashBefore } else { CommitFate::CrashAfter };
            }
        }
        let longest = if rng.random_bool(0.1) { 180_000 } else { 10_000 };
        let slow = rng.random_bool(0.02);
        CommitFate::Stored(Duration::from_millis(if slow {
            rng.random_range(0..longest)
        } else {
            rng.random_range(0..20)
        }))
    }
}

/// Serves connections on a store, like the only worker of a server. Fails if the server cannot start, as on a full disk.
async fn serve(store: Store, mut incoming: mpsc::UnboundedReceiver<DuplexStream>) -> anyhow::Result<()> {
    let mut config = Config::new("simulation");
    config.workers = 1;
    config.limits.grace_ms = GRACE.as_millis() as u64;
    config.limits.requests_per_s = 0;
    let state = ServerState::new(config, store, Metrics::new().unwrap()).await?;
    let shared = Arc::new(state);
    shared.hub.restore().await?;
    tokio::task::spawn_local(shared.workers.add().keep());
    tokio::task::spawn_local(shared.hub.clone().run_matches(0));
    let watch = shared.hub.clone().watch_ended();
    tokio::task::spawn_local(watch);
    let ip = [127, 0, 0, 1].into();
    while let Some(stream) = incoming.recv().await {
        let Some(permit) = shared.permits.enter(ip) else { continue };
        let peer = Peer { ip, local: true, bearer: None, entry: Arc::new(permit) };
        tokio::task::spawn_local(local::serve(stream, peer, shared.clone()));
    }
    Ok(())
}

/// Compares what the players saw with the store.
async fn check(database: &MemoryDatabase, played: &[Played]) {
    let store = database.open(|_| CommitFate::Stored(Duration::ZERO), || {}).await.unwrap();
    let verifier = Verifier::new(ludex_games::builtin());
    for player in played {
        let name = &player.name;
        assert_eq!(player.ended.len(), player.count as usize, "{name}: matches were lost or repeated");
        for (id, reason) in &player.ended {
            let stored = store.episode(id).await.unwrap().and_then(|stored| stored.end);
            let text = stored.as_ref().map_or("not stored", |end| &end.record);
            assert_eq!(reason, "finished", "{name}: {id}: {text}");
            let Some(end) = stored else {
                // A crash may remove the last second of an unrated match.
                assert!(!player.is_rated, "{name}: the end of {id} is lost");
                continue;
            };
            let record: Value = serde_json::from_str(&end.record).unwrap();
            let parts = RecordParts::parse(&end.record).unwrap();
            verifier.verify(&parts, Source::default()).unwrap_or_else(|fault| panic!("{name}: {id}: {fault}"));
            let mut moves: BTreeMap<(u64, u64), Vec<i64>> = BTreeMap::new();
            for event in record["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "move") {
                let [seat, turn] = ["seat", "turn"].map(|field| event[field].as_u64().unwrap());
                moves.entry((seat, turn)).or_default().push(event["action"].as_i64().unwrap());
            }
            assert!(moves.values().all(|actions| actions.len() == 1), "{name}: {id}: a move twice: {record}");
            for ((of, seat, turn), action) in player.accepted.iter().filter(|((of, ..), _)| of == id) {
                let stored = moves.get(&(u64::from(*seat), u64::from(*turn)));
                assert_eq!(stored, Some(&vec![*action]), "{name}: {of}, seat {seat}, turn {turn}: {record}");
            }
        }
    }
}

#[test]
fn acknowledged_moves_survive_all_simulated_faults() {
    simulate(0..ludex_env::check::scaled(40) as u64);
}

/// Runs one seed again, or all 10,000: `LUDEX_SEEDS=17..18 cargo test -p ludex-server -- --ignored simulated_seeds`.
#[test]
#[ignore = "takes long; .ci/long runs it"]
fn simulated_seeds() {
    let text = std::env::var("LUDEX_SEEDS").unwrap_or_else(|_| "0..10000".to_owned());
    let (first, last) = text.split_once("..").expect("LUDEX_SEEDS: expected FIRST..LAST");
    simulate(first.parse().expect("a number")..last.parse().expect("a number"));
}

type Shared<T> = Arc<Mutex<T>>;
