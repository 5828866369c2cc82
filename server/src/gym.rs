//! The gym plane: environments that one session owns.
//!
//! They belong to the session's task: no lock, no hop. A call that is expected to take longer than two milliseconds goes to the
//! compute pool with its handle; requests to that handle wait meanwhile, all others are answered.

mod handle;
mod open;
mod records;
mod seating;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ludex_protocol::message;
use ludex_protocol::record::RecordSeat;
use ludex_protocol::{ClientMessage, Encoding, ErrorCode, Id, Limits, Refusal, ServerMessage};

use crate::auth;
use crate::catalogue::Catalogue;
use crate::compute::{Compute, Panicked, caught};
use crate::opponents::Opponents;
use crate::quotas::Account;
use crate::store::Write;
use handle::{EnvHandle, HandleTask, TaskKind};
use seating::GymSeating;
pub(crate) use seating::check_search;

/// Longer work leaves the session's thread.
const INLINE: Duration = Duration::from_millis(2);
/// First guess at the time of one environment's share of a task, in nanoseconds; then it is measured.
const GUESS_NS: f64 = 500.0;
/// The same for snapshots and restores, which replay the episode.
const GUESS_REPLAY_NS: f64 = 20_000.0;
/// The same for what `view` shows.
const GUESS_READ_NS: f64 = 10_000.0;
/// The same where the server's agents answer.
const GUESS_AGENTS_NS: f64 = 1e7;
/// Measurements from batches this much smaller than the largest are ignored: fixed overhead dominates them.
const FEW: usize = 8;

/// What the gym plane needs of its server.
#[derive(Clone)]
pub struct Context {
    /// Where long work goes.
    pub compute: Compute,
    /// The games that there are.
    pub catalogue: Arc<Catalogue>,
    /// Whom clients may seat.
    pub opponents: Arc<Opponents>,
    /// What is allowed.
    pub limits: Arc<Limits>,
}

/// A reply as a frame.
#[derive(Debug)]
pub struct GymReply {
    /// The request.
    pub id: Id,
    /// The handle that it was about, if it was about one.
    pub env: Option<u32>,
    /// The frame.
    pub frame: Vec<u8>,
    /// Its encoding.
    pub encoding: Encoding,
    /// What went wrong, if something did.
    pub error: Option<ErrorCode>,
    /// Records of episodes that ended, to be kept.
    pub records: Vec<Write>,
}

impl GymReply {
    fn error(id: Id, env: Option<u32>, encoding: Encoding, error: Refusal) -> Self {
        let code = error.code;
        let frame = frame(encoding, id, error.into());
        GymReply { id, env, frame, encoding, error: Some(code), records: Vec::new() }
    }
}

/// The environments of a session.
pub struct Gym {
    context: Context,
    /// The client as records name it.
    client: RecordSeat,
    /// Who is to answer for it.
    account: Arc<Account>,
    /// Whether the session is over: what still runs for it ends.
    gone: Arc<AtomicBool>,
    places: BTreeMap<u32, HandleSlot>,
    last: u32,
    jobs: FuturesUnordered<Pin<Box<dyn Future<Output = Finished> + Send>>>,
}

struct HandleSlot {
    /// Away while a job runs.
    handle: Option<Box<EnvHandle>>,
    /// Requests that came meanwhile.
    waiting: VecDeque<(Id, HandleTask, Encoding)>,
    costs: Costs,
}

/// What one environment's share of each kind of task takes, in nanoseconds, by [`HandleTask::kind`].
struct Costs {
    /// Whether the server's agents answer in the tasks.
    agents: bool,
    ns: [f64; TaskKind::COUNT],
    /// What was measured last, if anything was.
    last: [Option<f64>; TaskKind::COUNT],
    /// Environments of the biggest task measured.
    most: [usize; TaskKind::COUNT],
}

impl Costs {
    fn guess(agents: bool) -> Self {
        let play = if agents { GUESS_AGENTS_NS } else { GUESS_NS };
        let mut ns = [play; TaskKind::COUNT];
        ns[TaskKind::Replay as usize] = GUESS_REPLAY_NS;
        ns[TaskKind::Copy as usize] = GUESS_NS;
        ns[TaskKind::Read as usize] = GUESS_READ_NS;
        Costs { agents, ns, last: [None; TaskKind::COUNT], most: [0; TaskKind::COUNT] }
    }

    fn expect(&self, kind: TaskKind, rows: usize) -> Duration {
        Duration::from_nanos((self.ns[kind as usize] * rows as f64) as u64)
    }

    fn measure(&mut self, kind: TaskKind, rows: usize, took: Duration) {
        let now = took.as_nanos() as f64 / rows.max(1) as f64;
        if !self.agents && rows < self.most[kind as usize] / FEW {
            return;
        }
        self.most[kind as usize] = self.most[kind as usize].max(rows);
        let before = self.last[kind as usize].replace(now);
        self.ns[kind as usize] = match before {
            None => now,
            // A slow call is believed at once, quick ones only after a while: an opponent that thinks may not move each
            // time.
            Some(_) if self.agents => now.max(0.8 * self.ns[kind as usize] + 0.2 * now),
            // Rules take as long each time: what was slow once, and not before, was the machine at something else.
            Some(before) => now.min(before),
        };
    }
}

/// What comes back from the pool.
struct Finished {
    id: Id,
    env: u32,
    encoding: Encoding,
    result: Result<Done, Panicked>,
}

struct Done {
    handle: Box<EnvHandle>,
    called: Called,
    kind: TaskKind,
    rows: usize,
    took: Duration,
}

/// What a task left behind.
struct Called {
    reply: GymReply,
    /// The handle that it made, if it made one.
    clone: Option<Box<EnvHandle>>,
}

impl Gym {
    /// No environments yet. `client` is how records name the owner.
    pub(crate) fn new(context: Context, client: RecordSeat, account: Arc<Account>) -> Self {
        let gone = Arc::default();
        Gym { context, client, account, gone, places: BTreeMap::new(), last: 0, jobs: FuturesUnordered::new() }
    }

    /// The handles.
    pub fn handles(&self) -> Vec<u32> {
        self.places.keys().copied().collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the handle is open.
    pub fn has(&self, env: u32) -> bool {
        self.places.contains_key(&env)
    }

    /// Carries a request of the gym plane out, or keeps it until the handle is back. Replies go to `out`.
    pub fn request(&mut self, id: Id, message: ClientMessage, encoding: Encoding, out: &mut Vec<GymReply>) {
        let (env, task) = match message {
            ClientMessage::Open(open) => {
                return out.push(match self.open(id, *open, encoding) {
                    Ok(frame) => GymReply { id, env: None, frame, encoding, error: None, records: Vec::new() },
                    Err(error) => GymReply::error(id, None, encoding, *error),
                });
            }
            ClientMessage::Reset(r) => (r.env, HandleTask::Reset(r)),
            ClientMessage::Step(s) => (s.env, HandleTask::Step(s)),
            ClientMessage::View(v) => (v.env, HandleTask::View(v)),
            ClientMessage::Clone(c) => (c.env, HandleTask::Clone(c, 0)),
            ClientMessage::Snapshot(s) => (s.env, HandleTask::Snapshot(s)),
            ClientMessage::Restore(r) => (r.env, HandleTask::Restore(r)),
            ClientMessage::Close(c) => (c.env, HandleTask::Close),
            _ => return,
        };
        match self.places.get_mut(&env) {
            Some(place) if place.handle.is_none() => place.waiting.push_back((id, task, encoding)),
            _ => self.start(id, env, task, encoding, out),
        }
    }

    /// The next replies of calls that were away; pending while none is.
    pub async fn finished(&mut self, out: &mut Vec<GymReply>) {
        let Some(Finished { id, env, encoding, result }) = self.jobs.next().await else {
            return std::future::pending().await;
        };
        let waiting = match result {
            Ok(Done { handle, called, kind, rows, took }) => {
                out.push(called.reply);
                called.clone.into_iter().for_each(|handle| self.adopt(handle));
                let Some(place) = self.places.get_mut(&env) else { return };
                place.handle = Some(handle);
                place.costs.measure(kind, rows, took);
                std::mem::take(&mut place.waiting)
            }
            Err(Panicked) => {
                out.push(failed(id, env, encoding));
                self.places.remove(&env).map(|place| place.waiting).unwrap_or_default()
            }
        };
        // In their order, as if they came now: one may take the handle away again.
        for (id, task, encoding) in waiting {
            match self.places.get_mut(&env) {
                Some(place) if place.handle.is_none() => place.waiting.push_back((id, task, encoding)),
                _ => self.start(id, env, task, encoding, out),
            }
        }
    }

    fn open(&mut self, id: Id, open: message::Open, encoding: Encoding) -> Result<Vec<u8>, Box<Refusal>> {
        self.room()?;
        self.last += 1;
        let seed = auth::random_bytes().map(u64::from_le_bytes).map_err(|e| {
            tracing::error!("no random seed: {e}");
            internal()
        })?;
        let (env, context, client) = (self.last, &self.context, &self.client);
        let table = GymSeating {
            opponents: context.opponents.clone(),
            limits: context.limits.clone(),
            compute: context.compute.clone(),
            account: self.account.clone(),
            gone: self.gone.clone(),
        };
        let opened = caught("open", || {
            let game = context.catalogue.load(&open.game, &open.params)?;
            open::open(env, game, open, &table, client, seed)
        });
        let handle = opened.unwrap_or_else(|Panicked| Err(internal()))?;
        let frame = frame(encoding, id, handle.opened());
        self.adopt(Box::new(handle));
        Ok(frame)
    }

    /// Whether another handle may be opened.
    fn room(&self) -> Result<(), Box<Refusal>> {
        let most = self.context.limits.envs as usize;
        if self.places.len() < most {
            return Ok(());
        }
        let message = format!("{most} environment handles are open, this server allows no more: close one");
        Err(Box::new(Refusal::new(ErrorCode::Limit, message).got(self.places.len()).allowed(most)))
    }

    fn adopt(&mut self, handle: Box<EnvHandle>) {
        let (env, costs) = (handle.env(), Costs::guess(handle.has_agents()));
        self.places.insert(env, HandleSlot { handle: Some(handle), waiting: VecDeque::new(), costs });
    }

    /// Starts a task on a handle that is here.
    fn start(&mut self, id: Id, env: u32, mut task: HandleTask, encoding: Encoding, out: &mut Vec<GymReply>) {
        if let HandleTask::Clone(_, number) = &mut task {
            if let Err(error) = self.room() {
                return out.push(GymReply::error(id, Some(env), encoding, *error));
            }
            self.last += 1;
            *number = self.last;
        }
        let Some(place) = self.places.get_mut(&env) else {
            return out.push(unknown(id, env, encoding, self.handles()));
        };
        let Some(handle) = place.handle.as_mut() else { return };
        let (kind, rows) = (task.kind(), handle.rows(&task));
        let closes = matches!(task, HandleTask::Close);
        let searches = handle.searches(&task);
        if searches || place.costs.expect(kind, rows) > INLINE {
            let Some(handle) = place.handle.take() else { return };
            let (compute, account) = (self.context.compute.clone(), self.account.clone());
            let job = move || work(handle, id, task, encoding, kind, rows);
            self.jobs.push(Box::pin(async move {
                // Each search waits for its owner's turn; the rest has one turn for the whole.
                let result = if searches {
                    let place = account.searching.acquire().await;
                    let result = compute.wait(job).await;
                    drop(place);
                    result
                } else {
                    compute.run(&account.name, job).await
                };
                Finished { id, env, encoding, result }
            }));
            return;
        }
        let from = Instant::now();
        match caught("gym request", || call(handle, id, task, encoding)) {
            Ok(called) => {
                place.costs.measure(kind, rows, from.elapsed());
                out.push(called.reply);
                if closes {
                    self.places.remove(&env);
                }
                called.clone.into_iter().for_each(|handle| self.adopt(handle));
            }
            Err(Panicked) => {
                self.places.remove(&env);
                out.push(failed(id, env, encoding));
            }
        }
    }
}

/// What still searches for the session is given up.
impl Drop for Gym {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

fn work(mut handle: Box<EnvHandle>, id: Id, task: HandleTask, encoding: Encoding, kind: TaskKind, rows: usize) -> Done {
    let from = Instant::now();
    let called = call(&mut handle, id, task, encoding);
    Done { handle, called, kind, rows, took: from.elapsed() }
}

/// Runs a task and writes its reply.
fn call(handle: &mut EnvHandle, id: Id, task: HandleTask, encoding: Encoding) -> Called {
    // The reply of `close` outlives its handle.
    let env = (!matches!(task, HandleTask::Close)).then(|| handle.env());
    let (answer, clone) = handle.run(task);
    let error = answer.as_ref().err().map(|error| error.code);
    let message = answer.unwrap_or_else(|error| (*error).into());
    let frame = encoding.encode_server(Some(id), &message).unwrap_or_else(|e| unwritten(encoding, id, &e));
    handle.recycle(message);
    Called { reply: GymReply { id, env, frame, encoding, error, records: handle.records() }, clone }
}

/// A message as a frame.
pub fn frame(encoding: Encoding, id: Id, message: ServerMessage) -> Vec<u8> {
    encoding.encode_server(Some(id), &message).unwrap_or_else(|e| unwritten(encoding, id, &e))
}

fn unwritten(encoding: Encoding, id: Id, e: &ludex_protocol::EncodeError) -> Vec<u8> {
    tracing::error!("a reply could not be written: {e}");
    encoding.encode_server(Some(id), &(*internal()).into()).unwrap_or_default()
}

/// The error for what went wrong in the server.
pub fn internal() -> Box<Refusal> {
    Box::new(Refusal::new(ErrorCode::Internal, "the server failed at this request; its log says more"))
}

/// The refusal of a request with a wrong field.
fn field(path: &str, message: impl Into<String>) -> Box<Refusal> {
    Box::new(Refusal::new(ErrorCode::BadField, message).path(path))
}

fn failed(id: Id, env: u32, encoding: Encoding) -> GymReply {
    let message = format!("the server failed at this request and closed environment {env}; its log says more");
    let error = Refusal::new(ErrorCode::Internal, message);
    GymReply::error(id, None, encoding, error)
}

fn unknown(id: Id, env: u32, encoding: Encoding, open: Vec<u32>) -> GymReply {
    let message = format!("this session has no environment {env}: it was closed or never opened");
    let error = Refusal::new(ErrorCode::UnknownEnv, message).path("env").got(env).allowed(open);
    GymReply::error(id, None, encoding, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: TaskKind = TaskKind::Step;

    fn stays(costs: &Costs, rows: usize) -> bool {
        costs.expect(STEP, rows) <= INLINE
    }

    #[test]
    fn rules_that_were_interrupted_once_are_not_slow() {
        let (quick, slow) = (Duration::from_micros(200), Duration::from_millis(20));
        let mut costs = Costs::guess(false);
        assert!(!stays(&costs, 16_384), "nothing is known yet");
        costs.measure(STEP, 4_096, quick);
        assert!(stays(&costs, 16_384));
        costs.measure(STEP, 4_096, slow);
        assert!(stays(&costs, 16_384), "once");
        costs.measure(STEP, 4_096, slow);
        assert!(!stays(&costs, 4_096), "twice");
        costs.measure(STEP, 4_096, quick);
        assert!(stays(&costs, 4_096), "quick again");
    }

    #[test]
    fn a_step_of_one_says_nothing_about_thousands() {
        let mut costs = Costs::guess(false);
        costs.measure(STEP, 4_096, Duration::from_micros(200));
        for _ in 0..3 {
            costs.measure(STEP, 1, Duration::from_micros(5));
        }
        assert!(stays(&costs, 4_096));
    }

    #[test]
    fn an_agent_that_thought_once_may_think_again() {
        let mut costs = Costs::guess(true);
        assert!(!stays(&costs, 1));
        costs.measure(STEP, 4, Duration::from_micros(8));
        assert!(stays(&costs, 4));
        costs.measure(STEP, 1, Duration::from_millis(50));
        costs.measure(STEP, 4, Duration::from_micros(8));
        assert!(!stays(&costs, 1));
    }
}
