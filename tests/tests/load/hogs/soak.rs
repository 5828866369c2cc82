//! Good clients for minutes, alone and beside each kind of hog in turn: no rated match is lost, no connection is closed, and what
//! the hogs ask for too much is refused. How long the good clients waited is printed.
//!
//! Two minutes at `LUDEX_TEST_SCALE` 1, a few seconds below that. By hand: `LUDEX_SOAK_SECONDS=1800` says how long, and
//! `LUDEX_SOAK_P99=5` that the p99 of a turn beside a hog must stay under 5 times the p99 alone. Server and clients share the machine's
//! cores, so run nothing else then. `LUDEX_BIN` names another program than that of the tests, which is not optimised.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ludex_env::{Stream, check};
use ludex_referee::Verifier;
use ludex_referee::read::read_lines;
use ludex_tests::bot::{act, first};
use ludex_tests::{Bot, Client, Process};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::kinds::{HOGS, Hog};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");
/// Kinds of measured waits.
const QUEUE: &str = "turn in a queue";
const AGENT: &str = "turn against mcts";
const STEP: &str = "step of a batch";
/// Time that a good client takes for a move.
const THINKS: Duration = Duration::from_millis(5);

/// The current phase: 1 plus the index in [`HOGS`], 0 while the good clients are alone; the rest of a hog; and the end.
struct Now(AtomicUsize);

const SETTLES: usize = usize::MAX - 1;
const OVER: usize = usize::MAX;

impl Now {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits by what was waited for and what was happening when it began.
type WaitTimes = Mutex<BTreeMap<(&'static str, usize), Vec<Duration>>>;

#[derive(Clone)]
struct Soak {
    address: SocketAddr,
    now: Arc<Now>,
    waits: Arc<WaitTimes>,
}

impl Soak {
    fn waited(&self, what: &'static str, during: usize, from: Instant) {
        self.waits.lock().entry((what, during)).or_default().push(from.elapsed());
    }

    /// Plays rated matches until the end; the matches.
    async fn play(self, name: &str, what: &'static str, join: Value) -> BTreeSet<String> {
        let mut bot = Bot::new(self.address, name).await;
        let join = bot.join(join).await;
        let mut left = false;
        let mut asked: Option<(usize, Instant)> = None;
        let mut random = Stream::from_text(name);
        loop {
            if self.now.get() == OVER && !left && bot.over() > 0 {
                left = true;
                let answer = bot.call("leave", json!({"join": join})).await;
                assert_eq!(answer["type"], "ok", "{answer}");
            }
            // No frame arrives between matches; the end is noticed all the same. A match may have started just before the join was left.
            let Ok(message) = tokio::time::timeout(Duration::from_secs(1), bot.next()).await else {
                if left && bot.over() == bot.matches.len() {
                    break;
                }
                continue;
            };
            let kind = message["type"].as_str().unwrap_or_default();
            assert!(!matches!(kind, "error" | "refused" | "resync"), "{message}");
            // Against an agent the next turn is waited for; in a queue that would be the other client's time.
            let answered = if what == AGENT { "turn" } else { "accepted" };
            if kind == answered || kind == "match_end" {
                asked.take().into_iter().for_each(|(during, from)| self.waited(what, during, from));
            }
            if kind == "turn" {
                tokio::time::sleep(THINKS).await;
                let legal = message["legal"].as_array().expect("actions");
                let mv = json!({"action": legal[random.below(legal.len())]});
                asked = Some((self.now.get(), Instant::now()));
                bot.client.ask("act", act(&message, mv)).await;
            }
        }
        for (id, seen) in &bot.matches {
            assert_eq!(
                (&seen.end["reason"], &seen.end["rated"]),
                (&json!("finished"), &json!(true)),
                "{id}: {}",
                seen.end
            );
        }
        bot.matches.into_keys().collect()
    }

    /// Steps a batch until the end.
    async fn step(self) {
        const ROWS: usize = 64;
        let mut c = Client::hello(self.address).await;
        let open = json!({"game": "connect_four", "count": ROWS, "autoreset": "same_step", "on_illegal": "lose"});
        let env = c.call("open", open).await["env"].clone();
        c.call("reset", json!({"env": env})).await;
        let mut random = Stream::from_text("steps");
        loop {
            let during = self.now.get();
            if during == OVER {
                return;
            }
            tokio::time::sleep(THINKS).await;
            let actions: Vec<usize> = (0..ROWS).map(|_| random.below(7)).collect();
            let from = Instant::now();
            let answer = c.call("step", json!({"env": env, "actions": actions})).await;
            assert_eq!(answer["type"], "batch", "{answer}");
            self.waited(STEP, during, from);
        }
    }
}

fn seconds() -> f64 {
    let by_hand = std::env::var("LUDEX_SOAK_SECONDS").ok().map(|text| text.parse().expect("seconds"));
    by_hand.unwrap_or(match check::scaled(100) {
        scale @ 100.. => 1.2 * scale as f64,
        _ => 6.0,
    })
}

#[tokio::test]
async fn good_clients_lose_no_match_next_to_hogs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let limits = ["--limit", "address_hellos=64"];
    let program = std::env::var("LUDEX_BIN").unwrap_or_else(|_| PROGRAM.to_owned());
    let server = Process::start(&program, &folder.path().join("data"), &folder.path().join("log"), None, &limits);
    let now = Arc::new(Now(AtomicUsize::new(0)));
    let soak = Soak { address: server.address, now: now.clone(), waits: Arc::default() };
    let queue = json!({"game": "connect_four", "rated": true, "count": 0});
    let agent = json!({"game": "connect_four", "rated": true, "count": 0, "against": ["mcts sims=50"]});
    let players = [("ann", QUEUE, &queue), ("bob", QUEUE, &queue), ("eve", AGENT, &agent)];
    let plays = players.map(|(name, what, join)| tokio::spawn(soak.clone().play(name, what, join.clone())));
    let steps = tokio::spawn(soak.clone().step());

    let slice = Duration::from_secs_f64(seconds() / (2 * HOGS.len()) as f64);
    let mut refused = Vec::new();
    for (at, (name, hog)) in HOGS.iter().enumerate() {
        // Searches of the last hog may still run. Waits of this time are not kept.
        now.0.store(SETTLES, Ordering::Relaxed);
        tokio::time::sleep((slice / 4).min(Duration::from_secs(2))).await;
        now.0.store(0, Ordering::Relaxed);
        tokio::time::sleep(slice).await;
        now.0.store(at + 1, Ordering::Relaxed);
        refused.push((name, run_hog(*hog, server.address, slice).await));
    }
    now.0.store(OVER, Ordering::Relaxed);
    steps.await.expect("steps");
    let mut matches = BTreeSet::new();
    for play in plays {
        matches.extend(play.await.expect("matches"));
    }
    report(&soak.waits.lock());
    println!("{} rated matches; refused (of /ratings: answered): {refused:?}", matches.len());
    for (name, refused) in refused {
        assert!(refused > 0, "{name} was never refused");
    }
    verified(server.address, &matches).await;
    server.has_not_panicked();
}

/// A hog on a thread of its own, for a while; how often it was refused.
async fn run_hog(hog: Hog, address: SocketAddr, slice: Duration) -> usize {
    let until = Instant::now() + slice;
    let runs = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(hog(address, until))
    };
    tokio::task::spawn_blocking(runs).await.expect("a hog that is refused and not broken")
}

/// Prints the waits, and checks them if that is wanted.
fn report(waits: &BTreeMap<(&'static str, usize), Vec<Duration>>) {
    let most: Option<f64> = std::env::var("LUDEX_SOAK_P99").ok().map(|text| text.parse().expect("a factor"));
    let mut slow = Vec::new();
    for what in waits.keys().map(|(what, _)| *what).collect::<BTreeSet<_>>() {
        let mut alone = None;
        for during in 0..=HOGS.len() {
            let Some(times) = waits.get(&(what, during)) else { continue };
            let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
            times.sort_unstable_by(f64::total_cmp);
            let at = |share: f64| times[(times.len() as f64 * share) as usize];
            let (half, high, last) = (at(0.5), at(0.99), times[times.len() - 1]);
            let alone = *alone.get_or_insert(high);
            let name = during.checked_sub(1).map_or("alone", |hog| HOGS[hog].0);
            let ratio = high / alone;
            println!(
                "{what:<20} {name:<28} {:>6} waits, p50 {half:8.2} ms, p99 {high:8.2} ms ({ratio:5.2}), longest {last:8.2} ms",
                times.len()
            );
            if what != STEP && most.is_some_and(|most| ratio >= most) {
                slow.push(format!("{what}, {name}: {ratio:.1}"));
            }
        }
    }
    assert!(slow.is_empty(), "p99 beside a hog over p99 alone: {slow:?}");
}

/// Each record is on the server, counts, and verifies.
async fn verified(address: SocketAddr, matches: &BTreeSet<String>) {
    assert!(!matches.is_empty());
    let mut lines = String::new();
    for id in matches {
        let (status, record) = ludex_tests::server::get(address, &format!("/episodes/{id}"), "").await;
        assert_eq!(status, 200, "{record}");
        lines.push_str(&record);
        lines.push('\n');
    }
    let (good, refused) =
        Verifier::new(ludex_games::builtin()).verify_all(&read_lines("server", lines.as_bytes()).found);
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(good.len(), matches.len());
    // And a match more.
    let mut bot = Bot::new(address, "good").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"]})).await;
    bot.play(1, first).await;
}
