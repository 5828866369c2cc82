//! Simulation of many agents on the match plane: sessions, lobby, event loop and writer of the store, in one thread, with a
//! database in memory and in virtual time. The figures of `docs/scale.md` are its output:
//!
//! ```sh
//! cargo run --release -p ludex-arena --example scale -- 100000
//! ```
//!
//! Half of the agents belong to one owner, whose agents do not meet in rated matches, so that they wait. Then the agents of
//! another owner arrive. Processor time includes the agents, which decode every frame.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ludex_arena::live::Live;
use ludex_arena::mailbox::{Mailbox, MailboxItem};
use ludex_arena::matches::{Hub, HubConfig};
use ludex_arena::metrics::Metrics;
use ludex_arena::sessions::match_handle::MatchCommand;
use ludex_arena::sessions::{ClientInfo, Session, SessionConnection};
use ludex_arena::settings::{Humans, PairMode};
use ludex_arena::suites::Suites;
use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::Compute;
use ludex_gym::opponents::Opponents;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::{Act, Join, ServerMessage, TurnFrame};
use ludex_protocol::{Encoding, Limits};
use ludex_store::Store;
use ludex_store::testing::{CommitFate, MemoryDatabase, seed_random_bytes};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

const ENCODING: Encoding = Encoding::MsgPack;

/// Duration of a commit, about that of an `fsync` of a server's disk.
const COMMIT: Duration = Duration::from_millis(3);

/// Time over which the agents of an owner arrive.
const ARRIVAL: Duration = Duration::from_secs(50);

/// Number of queues among which the agents are spread.
const QUEUES: usize = 20;

/// Capacity of a mailbox, as on a server.
const MAILBOX: usize = 1_024;

/// Time that an agent thinks: between this and twice this.
const THOUGHT: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Commits {
    batches: AtomicU64,
    rows: AtomicU64,
    largest: AtomicU64,
}

#[derive(Default)]
struct Played {
    waits_ms: Vec<u64>,
    acts: u64,
    ends: u64,
}

/// Virtual time, processor time, memory and commits at one moment.
struct Moment {
    at: Instant,
    cpu_us: f64,
    resident_bytes: f64,
    batches: u64,
    rows: u64,
}

impl Moment {
    fn now(commits: &Commits) -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |k: usize| fields[k].parse::<f64>().expect("a number");
        Moment {
            at: Instant::now(),
            cpu_us: (field(11) + field(12)) * 1e6 / rustix::param::clock_ticks_per_second() as f64,
            resident_bytes: field(21) * rustix::param::page_size() as f64,
            batches: commits.batches.load(Ordering::Relaxed),
            rows: commits.rows.load(Ordering::Relaxed),
        }
    }
}

async fn hub(store: Store) -> anyhow::Result<Arc<Hub>> {
    let most = u32::MAX / 2;
    let limits = Limits { owner_joins: most, owner_matches: most, ..Limits::default() };
    let config = HubConfig {
        limits: limits.into(),
        catalogue: Arc::new(Catalogue::new(ludex_games::builtin())),
        opponents: Opponents::default().into(),
        pairs: PairMode::default(),
        humans: Humans::default(),
        data: std::env::temp_dir(),
        suites: Suites::default(),
        consent: None,
        run_time: Duration::from_secs(3_600),
        seasons: Live::default(),
        ladders: Vec::new(),
        urls: Arc::default(),
    };
    let hub = Hub::new(store, config, Compute::new(1)?, Arc::new(Metrics::new()?), 1).await?;
    tokio::task::spawn_local(hub.clone().run_matches(0));
    tokio::task::spawn_local(hub.clone().watch_ended());
    Ok(hub)
}

/// Plays the matches of one join: the first legal action of each turn, after some thought.
async fn agent(
    hub: Arc<Hub>,
    owner: &'static str,
    k: usize,
    delay: Duration,
    matches: u32,
    played: Rc<RefCell<Played>>,
) {
    sleep(delay).await;
    let about = ClientInfo { agent: format!("{owner}{k}"), owner: Some(owner.to_owned()), ..ClientInfo::default() };
    let session = hub.sessions.create(format!("s_{owner}{k}"), about);
    let ((mail, mut received), (control, _control)) = (mpsc::channel(MAILBOX), mpsc::unbounded_channel());
    let (mailbox, generation) = (Mailbox::new(mail, ENCODING), hub.sessions.generation());
    session.hold("k", SessionConnection { control, mailbox, generation, token: None });
    hub.keep_session(&session, false).await;
    let queue = format!("q{}", k % QUEUES);
    let join = Join { queue, rated: true, count: matches, ..Join::new("tic_tac_toe") };
    let (mut ended, mut since, mut re) = (0, Instant::now(), 1);
    hub.join(&session, re, join).await;
    while ended < matches {
        let Some(item) = received.recv().await else { panic!("{owner}{k}: the mailbox is closed") };
        let MailboxItem::Frames(frames) = item else { panic!("{owner}{k}: {item:?}") };
        for frame in frames {
            let bytes = frame.frame.message.into_data();
            match ENCODING.decode_server(&bytes, 64).expect("a message").1 {
                ServerMessage::MatchStart(_) if owner == "b" => {
                    played.borrow_mut().waits_ms.push(since.elapsed().as_millis() as u64);
                }
                ServerMessage::Turn(turn) => {
                    sleep(THOUGHT + THOUGHT * (k % 97) as u32 / 97).await;
                    re += 1;
                    act(&hub, &session, re, &turn);
                    played.borrow_mut().acts += 1;
                }
                ServerMessage::MatchEnd(_) => {
                    (ended, since) = (ended + 1, Instant::now());
                    played.borrow_mut().ends += 1;
                }
                ServerMessage::Error(refusal) => panic!("{owner}{k}: {refusal:?}"),
                _ => {}
            }
        }
    }
}

fn act(hub: &Hub, session: &Session, re: i64, turn: &TurnFrame) {
    let seated = session.in_match(&turn.match_id).expect("a match of the session");
    let act = Act {
        match_id: turn.match_id.clone(),
        seat: Some(turn.seat),
        turn: turn.turn,
        attempt: turn.attempt,
        action: turn.legal.iter().next().map(i64::from),
        ..Act::default()
    };
    let input = Input::Act { seat: turn.seat as usize, re, act: Box::new(act) };
    seated.handle.send(MatchCommand::Heard(hub.now(), input));
}

async fn run(agents: usize, matches: u32) -> anyhow::Result<()> {
    seed_random_bytes(1);
    let commits = Arc::new(Commits::default());
    let count = commits.clone();
    let fate = move |rows: usize| {
        count.batches.fetch_add(1, Ordering::Relaxed);
        count.rows.fetch_add(rows as u64, Ordering::Relaxed);
        count.largest.fetch_max(rows as u64, Ordering::Relaxed);
        CommitFate::Stored(COMMIT)
    };
    let database = MemoryDatabase::new();
    let store = database.open(fate, || unreachable!("no commit crashes")).await?;
    let hub = hub(store).await?;
    let played = Rc::new(RefCell::new(Played::default()));
    let mut playing = JoinSet::new();
    let half = agents / 2;
    let arrive = |playing: &mut JoinSet<()>, owner| {
        for k in 0..half {
            let delay = ARRIVAL.mul_f64(k as f64 / half as f64);
            playing.spawn_local(agent(hub.clone(), owner, k, delay, matches, played.clone()));
        }
    };
    let start = Moment::now(&commits);
    arrive(&mut playing, "a");
    sleep(ARRIVAL + Duration::from_secs(10)).await;
    let waiting = Moment::now(&commits);
    arrive(&mut playing, "b");
    while let Some(done) = playing.join_next().await {
        done?;
    }
    let end = Moment::now(&commits);
    hub.store.flush().await?;

    let mut played = played.take();
    played.waits_ms.sort_unstable();
    let (games, joins, acts) = ((played.ends / 2) as f64, half as f64, played.acts as f64);
    let wait = |share: f64| played.waits_ms[((played.waits_ms.len() - 1) as f64 * share) as usize];
    let (seconds, cpu_us) = ((end.at - waiting.at).as_secs_f64(), end.cpu_us - waiting.cpu_us);
    let join_us = (waiting.cpu_us - start.cpu_us) / joins;
    println!("agents {agents}, matches {games}, acts {acts}, queues {QUEUES}");
    println!(
        "virtual seconds with matches {seconds:.1}: {:.0} matches/s, {:.0} acts/s",
        games / seconds,
        acts / seconds
    );
    println!("processor: {join_us:.1} us per join that waits");
    println!(
        "processor: {:.1} us per match, {:.1} us per act, with the joins of the second owner",
        cpu_us / games,
        cpu_us / acts
    );
    println!("processor: {:.0} s for {seconds:.1} virtual seconds", cpu_us / 1e6);
    println!("memory: {:.0} bytes per waiting agent", (waiting.resident_bytes - start.resident_bytes) / joins);
    let (batches, rows) = ((end.batches - waiting.batches) as f64, (end.rows - waiting.rows) as f64);
    println!("store: {:.0} rows/s, {:.0} commits/s", rows / seconds, batches / seconds);
    println!("store: {:.0} rows per commit, at most {}", rows / batches, commits.largest.load(Ordering::Relaxed));
    println!("store: {:.0} bytes per match", database.size_bytes() as f64 / games);
    println!("queue beside an opponent: median {} ms, 90 % {} ms, longest {} ms", wait(0.5), wait(0.9), wait(1.0));
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let number = |k: usize, default: usize| std::env::args().nth(k).map_or(Ok(default), |text| text.parse());
    let (agents, matches) = (number(1, 100_000)?, number(2, 1)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    LocalSet::new().block_on(&runtime, run(agents, u32::try_from(matches)?))
}
