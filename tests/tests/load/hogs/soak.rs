//! Soak test: well-behaved clients run for minutes, alone and then with one kind of hog after the other. No rated match
//! may be lost, no connection closed, and excessive requests of hogs must be refused. The waits of the well-behaved
//! clients are printed.
//!
//! The test takes two minutes at `LUDEX_TEST_SCALE` 1, a few seconds at lower scales. `LUDEX_SOAK_SECONDS=1800` sets
//! the duration. With `LUDEX_SOAK_P99=5`, the p99 of a turn next to a hog must stay below 5 times the p99 without one.
//! Server and clients share the machine's cores, so run nothing else at the same time. `LUDEX_BIN` names the program to
//! test; the default is the debug build of the tests.

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
/// Measured wait for the next turn of a match from a queue.
const QUEUE: &str = "turn in a queue";
const AGENT: &str = "turn against mcts";
const STEP: &str = "step of a batch";
/// Time that a well-behaved client takes per move.
const THINKS: Duration = Duration::from_millis(5);

/// Current phase: 0 while the well-behaved clients are alone, 1 plus the index in [`HOGS`] while a hog runs, then a
/// phase for a hog's remaining work, then the end.
struct Now(AtomicUsize);

const SETTLES: usize = usize::MAX - 1;
const OVER: usize = usize::MAX;

impl Now {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits by kind and by the phase in which they started.
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

    /// Plays rated matches until the end and returns their ids.
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
            // No frame arrives between matches, so the end of the test is detected by a timeout. A match may have
            // started just before the client left the join.
            let Ok(message) = tokio::time::timeout(Duration::from_secs(1), bot.next()).await else {
                if left && bot.over() == bot.matches.len() {
                    break;
                }
                continue;
            };
            let kind = message["type"].as_str().unwrap_or_default();
            assert!(!matches!(kind, "error" | "refused" | "resync"), "{message}");
            // Against an agent, the client waits for its next turn. In a queue, that time would include the opponent's
            // thinking time.
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

    /// Steps a batch of environments until the end of the test.
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
async fn misbehaving_clients_do_not_disrupt_matches_of_other_clients() {
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
        // Searches of the last hog may still run. Waits in this phase are not recorded.
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
    println!("{} rated matches; refused (of pages: answered): {refused:?}", matches.len());
    for (name, refused) in refused {
        assert!(refused > 0, "{name} was never refused");
    }
    verified(server.address, &matches).await;
    server.has_not_panicked();
}

/// Runs a hog on a separate thread for the duration `slice` and returns the number of its refusals.
async fn run_hog(hog: Hog, address: SocketAddr, slice: Duration) -> usize {
    let until = Instant::now() + slice;
    let runs = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(hog(address, until))
    };
    tokio::task::spawn_blocking(runs).await.expect("a hog that is refused and not broken")
}

/// Prints the waits, and checks them if `LUDEX_SOAK_P99` is set.
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

/// Checks that each record is on the server, is counted, and verifies.
async fn verified(address: SocketAddr, matches: &BTreeSet<String>) {
    assert!(!matches.is_empty());
    let mut lines = String::new();
    for id in matches {
        let record = loop {
            match ludex_tests::server::get(address, &format!("/episodes/{id}"), "").await {
                (200, record) => break record,
                (429, _) => tokio::time::sleep(THINKS).await,
                other => panic!("{other:?}"),
            }
        };
        lines.push_str(&record);
        lines.push('\n');
    }
    let (good, refused) =
        Verifier::new(ludex_games::builtin()).verify_all(&read_lines("server", lines.as_bytes()).found);
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(good.len(), matches.len());
    // Plays one more match.
    let mut bot = Bot::new(address, "good").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"]})).await;
    bot.play(1, first).await;
}
