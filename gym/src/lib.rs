//! The gym plane: environments that one session owns. Also contains the parts that environments and matches share: the
//! games and agents on offer, the quotas of owners, and the scheduler of long-running work.
//!
//! The environments of a session belong to the session's task, so most calls need neither a lock nor a
//! second task. If a call is expected to take longer than two milliseconds, the call and its handle
//! move to the compute pool. Further requests to the handle are queued until the call returns.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ludex_gym::compute::Compute;
//! use ludex_gym::quotas::Owners;
//! use ludex_gym::{Context, Gym};
//! use ludex_protocol::record::RecordSeat;
//! use ludex_protocol::{ClientMessage, Encoding};
//!
//! # fn main() -> anyhow::Result<()> {
//! let context = Context {
//!     compute: Compute::new(1)?,
//!     catalogue: Arc::default(),
//!     opponents: Arc::default(),
//!     limits: Arc::default(),
//! };
//! let account = Owners::default().account(Some("ann"), "s_1");
//! let mut gym = Gym::new(context, RecordSeat::default(), account);
//! let open = ClientMessage::Open(Box::new(serde_json::from_str(r#"{"game": "tic_tac_toe", "count": 8}"#)?));
//! let mut replies = Vec::new();
//! gym.request(1, open, Encoding::Json, &mut replies);
//! // Games are built as jobs.
//! tokio::runtime::Builder::new_current_thread().build()?.block_on(gym.finished(&mut replies));
//! assert_eq!((replies[0].id, replies[0].error, gym.handles()), (1, None, vec![1]));
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - The crate opens no socket. Requests are decoded messages, and replies are encoded messages.
//! - A failed request changes no environment, and a panic closes only the environments of the request that panicked.
//! - Owners get equal shares of the compute time of jobs.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod compute;
mod handle;
mod open;
pub mod opponents;
mod prompts;
pub mod quotas;
mod records;
mod seating;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ludex_protocol::message;
use ludex_protocol::record::RecordSeat;
use ludex_protocol::{ClientMessage, Encoding, ErrorCode, Id, Limits, Refusal, ServerMessage};
use ludex_store::{Write, random_bytes};

use crate::catalogue::Catalogue;
use crate::compute::{Compute, JobError, JobSwitch, caught, internal};
use crate::opponents::Opponents;
use crate::quotas::Account;
use handle::{EnvHandle, HandleTask, TaskKind};
use seating::GymSeating;
pub use seating::check_search;

/// Maximum expected duration of a call on the session's task. Longer calls move to the compute
/// pool.
const INLINE: Duration = Duration::from_millis(2);
/// Initial estimate for a reset, step or copy: nanoseconds per environment.
const GUESS_NS: f64 = 500.0;
/// Initial estimate for a snapshot or restore, which plays the episode again: nanoseconds per environment.
const GUESS_REPLAY_NS: f64 = 20_000.0;
/// Initial estimate for `view`: nanoseconds per requested item.
const GUESS_READ_NS: f64 = 10_000.0;
/// Initial estimate for a reset or step in which the server's agents move: nanoseconds per environment.
const GUESS_AGENTS_NS: f64 = 1e7;
/// Factor by which a batch may be smaller than the largest measured batch and still change the estimate. Fixed overhead
/// dominates the times of smaller batches. Does not apply to batches in which server agents move.
const FEW: usize = 8;

/// Parts of the server that the gym plane uses.
#[derive(Clone)]
pub struct Context {
    /// Pool for long calls.
    pub compute: Compute,
    /// Games that clients may open.
    pub catalogue: Arc<Catalogue>,
    /// Agents that clients may seat.
    pub opponents: Arc<Opponents>,
    /// Limits of one session.
    pub limits: Arc<Limits>,
}

/// Encoded reply to a gym request.
#[derive(Debug)]
pub struct GymReply {
    /// Id of the request.
    pub id: Id,
    /// Environment handle that the request names, if any.
    pub env: Option<u32>,
    /// Reply in this encoding.
    pub frame: Vec<u8>,
    /// Encoding of the reply.
    pub encoding: Encoding,
    /// Error code, if the request failed.
    pub error: Option<ErrorCode>,
    /// Records of finished episodes, which the caller must store.
    pub records: Vec<Write>,
}

impl GymReply {
    fn error(id: Id, env: Option<u32>, encoding: Encoding, error: Refusal) -> Self {
        let code = error.code;
        let frame = frame(encoding, id, error.into());
        GymReply { id, env, frame, encoding, error: Some(code), records: Vec::new() }
    }
}

/// Environments of one session.
pub struct Gym {
    context: Context,
    /// Client, as listed in episode records.
    client: RecordSeat,
    /// Quota account charged for the environments.
    account: Arc<Account>,
    places: BTreeMap<u32, HandleSlot>,
    last: u32,
    jobs: FuturesUnordered<Pin<Box<dyn Future<Output = Finished> + Send>>>,
}

struct HandleSlot {
    /// Environments; `None` while a job uses them.
    handle: Option<Box<EnvHandle>>,
    /// Switch that suspends or resumes the last job.
    job: Option<JobSwitch>,
    /// Requests queued while a job uses the handle.
    waiting: VecDeque<(Id, HandleTask, Encoding)>,
    costs: Costs,
}

/// Estimated durations of the tasks of one handle.
struct Costs {
    /// True if the server's agents move in these tasks.
    agents: bool,
    kinds: [Cost; TaskKind::ALL.len()],
}

/// Estimated duration of one kind of task.
struct Cost {
    /// Estimated time that one task of this kind needs for each environment, in nanoseconds.
    ns: f64,
    /// Last measured time per environment in nanoseconds.
    last: Option<f64>,
    /// Number of environments in the largest measured task.
    most: usize,
}

impl Costs {
    fn guess(agents: bool) -> Self {
        let guess = |kind| match kind {
            TaskKind::Reset | TaskKind::Step if agents => GUESS_AGENTS_NS,
            TaskKind::Reset | TaskKind::Step | TaskKind::Copy => GUESS_NS,
            TaskKind::Replay => GUESS_REPLAY_NS,
            TaskKind::Read => GUESS_READ_NS,
        };
        Costs { agents, kinds: TaskKind::ALL.map(|kind| Cost { ns: guess(kind), last: None, most: 0 }) }
    }

    fn expect(&self, kind: TaskKind, rows: usize) -> Duration {
        Duration::from_nanos((self.kinds[kind as usize].ns * rows as f64) as u64)
    }

    fn measure(&mut self, kind: TaskKind, rows: usize, took: Duration) {
        let now = took.as_nanos() as f64 / rows.max(1) as f64;
        let cost = &mut self.kinds[kind as usize];
        if !self.agents && rows < cost.most / FEW {
            return;
        }
        cost.most = cost.most.max(rows);
        cost.ns = match cost.last.replace(now) {
            None => now,
            // A slow call raises the estimate immediately. Fast calls lower the estimate slowly: an
            // agent that searches may not move in every call.
            Some(_) if self.agents => now.max(0.8 * cost.ns + 0.2 * now),
            // Without agents, all calls take about the same time, so a single slow call is
            // assumed to be an interruption by other programs.
            Some(before) => now.min(before),
        };
    }
}

/// Result of a job in the pool.
struct Finished {
    id: Id,
    env: u32,
    encoding: Encoding,
    result: Result<JobResult, JobError>,
}

/// Result of a job: an opened handle, or a completed task.
enum JobResult {
    Opened(Result<Box<EnvHandle>, Box<Refusal>>),
    Called(RunTask),
}

/// Completed [`HandleTask`]: its result, its cost, and its environment handle, which returns to the gym.
struct RunTask {
    handle: Box<EnvHandle>,
    called: Called,
    kind: TaskKind,
    rows: usize,
    took: Duration,
}

/// Result of a task.
struct Called {
    reply: GymReply,
    /// Handle created by a `clone` request.
    clone: Option<Box<EnvHandle>>,
}

impl Gym {
    /// Creates a gym without environments. Episode records list `client` as the owner.
    pub fn new(context: Context, client: RecordSeat, account: Arc<Account>) -> Self {
        Gym { context, client, account, places: BTreeMap::new(), last: 0, jobs: FuturesUnordered::new() }
    }

    /// Replaces the context of the handles that open from now on, after the operator has changed agents or limits.
    pub fn set_context(&mut self, context: Context) {
        self.context = context;
    }

    /// Returns the open handles.
    pub fn handles(&self) -> Vec<u32> {
        self.places.keys().copied().collect()
    }

    /// Returns true if no handle is open.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns true if the handle is open.
    pub fn has(&self, env: u32) -> bool {
        self.places.contains_key(&env)
    }

    /// Processes a gym request, or queues the request while its handle is in use. Appends replies to `out`.
    pub fn request(&mut self, id: Id, message: ClientMessage, encoding: Encoding, out: &mut Vec<GymReply>) {
        let (env, task) = match message {
            ClientMessage::Open(open) => {
                if let Err(error) = self.open(id, *open, encoding) {
                    out.push(GymReply::error(id, None, encoding, *error));
                }
                return;
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

    /// Waits for the next job to finish and appends its replies to `out`. The future stays pending
    /// while no job runs.
    pub async fn finished(&mut self, out: &mut Vec<GymReply>) {
        let Some(Finished { id, env, encoding, result }) = self.jobs.next().await else {
            return std::future::pending().await;
        };
        let waiting = match result {
            Ok(JobResult::Opened(Ok(handle))) => {
                let frame = frame(encoding, id, handle.opened());
                out.push(GymReply { id, env: None, frame, encoding, error: None, records: Vec::new() });
                let opening = self.places.remove(&env);
                self.adopt(handle);
                opening.map(|place| place.waiting).unwrap_or_default()
            }
            Ok(JobResult::Opened(Err(error))) => {
                out.push(GymReply::error(id, None, encoding, *error));
                self.places.remove(&env).map(|place| place.waiting).unwrap_or_default()
            }
            Ok(JobResult::Called(RunTask { handle, called, kind, rows, took })) => {
                out.push(called.reply);
                called.clone.into_iter().for_each(|handle| self.adopt(handle));
                let Some(place) = self.places.get_mut(&env) else { return };
                place.handle = Some(handle);
                place.job = None;
                place.costs.measure(kind, rows, took);
                std::mem::take(&mut place.waiting)
            }
            Err(error) => {
                out.push(failed(id, env, encoding, error));
                self.places.remove(&env).map(|place| place.waiting).unwrap_or_default()
            }
        };
        // The queued requests are processed in order, as if they arrived now. Any of them may
        // move the handle to the pool again.
        for (id, task, encoding) in waiting {
            match self.places.get_mut(&env) {
                Some(place) if place.handle.is_none() => place.waiting.push_back((id, task, encoding)),
                _ => self.start(id, env, task, encoding, out),
            }
        }
    }

    /// Starts a job that loads the game and creates its environments.
    fn open(&mut self, id: Id, open: message::Open, encoding: Encoding) -> Result<(), Box<Refusal>> {
        self.room()?;
        self.last += 1;
        let seed = random_bytes().map(u64::from_le_bytes).map_err(|e| {
            tracing::error!(error = %e, "random seed generation failed");
            internal()
        })?;
        let (env, client, catalogue) = (self.last, self.client.clone(), self.context.catalogue.clone());
        let table = GymSeating {
            opponents: self.context.opponents.clone(),
            limits: self.context.limits.clone(),
            account: self.account.clone(),
        };
        let job = self.context.compute.run(&self.account.name, move || {
            let game = catalogue.load(&open.game, &open.params)?;
            open::open(env, game, open, &table, &client, seed).map(Box::new)
        });
        let job = job.interruptible();
        let slot =
            HandleSlot { handle: None, job: Some(job.switch()), waiting: VecDeque::new(), costs: Costs::guess(false) };
        self.places.insert(env, slot);
        self.jobs.push(Box::pin(async move {
            let result = job.await.map(JobResult::Opened);
            Finished { id, env, encoding, result }
        }));
        Ok(())
    }

    /// Suspends all jobs while the session has no connection, or resumes them.
    pub fn set_suspended(&self, suspended: bool) {
        let switches = self.places.values().filter_map(|place| place.job.as_ref());
        switches.for_each(if suspended { JobSwitch::suspend } else { JobSwitch::resume });
    }

    /// Checks that the session may open one more handle.
    fn room(&self) -> Result<(), Box<Refusal>> {
        let most = self.context.limits.envs as usize;
        if self.places.len() < most {
            return Ok(());
        }
        let message = format!("expected at most {most} open environment handles; close a handle first");
        Err(Box::new(Refusal::new(ErrorCode::Limit, message).got(self.places.len()).allowed(most)))
    }

    fn adopt(&mut self, handle: Box<EnvHandle>) {
        let (env, costs) = (handle.env(), Costs::guess(handle.has_agents()));
        self.places.insert(env, HandleSlot { handle: Some(handle), job: None, waiting: VecDeque::new(), costs });
    }

    /// Starts a task on a handle that no job uses.
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
            let work = move || work(handle, id, task, encoding, kind, rows);
            let job = self.context.compute.run(&self.account.name, work).interruptible();
            place.job = Some(job.switch());
            self.jobs.push(Box::pin(async move {
                let result = job.await.map(JobResult::Called);
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
            Err(error) => {
                self.places.remove(&env);
                out.push(failed(id, env, encoding, error));
            }
        }
    }
}

fn work(
    mut handle: Box<EnvHandle>,
    id: Id,
    task: HandleTask,
    encoding: Encoding,
    kind: TaskKind,
    rows: usize,
) -> RunTask {
    let from = Instant::now();
    let called = call(&mut handle, id, task, encoding);
    RunTask { handle, called, kind, rows, took: from.elapsed() }
}

/// Runs a task and encodes its reply.
fn call(handle: &mut EnvHandle, id: Id, task: HandleTask, encoding: Encoding) -> Called {
    // The reply to `close` is written after the handle is removed, so the reply names no handle.
    let env = (!matches!(task, HandleTask::Close)).then(|| handle.env());
    let (answer, clone) = handle.run(task);
    let error = answer.as_ref().err().map(|error| error.code);
    let message = answer.unwrap_or_else(|error| (*error).into());
    let frame = encoding.encode_server(Some(id), &message).unwrap_or_else(|e| unwritten(encoding, id, &e));
    handle.recycle(message);
    Called { reply: GymReply { id, env, frame, encoding, error, records: handle.records() }, clone }
}

fn frame(encoding: Encoding, id: Id, message: ServerMessage) -> Vec<u8> {
    encoding.encode_server(Some(id), &message).unwrap_or_else(|e| unwritten(encoding, id, &e))
}

fn unwritten(encoding: Encoding, id: Id, e: &ludex_protocol::EncodeError) -> Vec<u8> {
    tracing::error!(error = %e, "reply encoding failed");
    encoding.encode_server(Some(id), &(*internal()).into()).unwrap_or_default()
}

/// Returns the refusal of a request with an invalid field.
fn field(path: &str, message: impl Into<String>) -> Box<Refusal> {
    Box::new(Refusal::new(ErrorCode::BadField, message).path(path))
}

/// Returns the reply to a request whose job failed, which closes the environments.
fn failed(id: Id, env: u32, encoding: Encoding, error: JobError) -> GymReply {
    let (code, why) = match error {
        JobError::Panicked => (ErrorCode::Internal, "internal error: environment {} was closed; see the server log"),
        JobError::Stopped => {
            (ErrorCode::Limit, "server has too many long calls: environment {} was closed; open it again later")
        }
    };
    GymReply::error(id, None, encoding, Refusal::new(code, why.replace("{}", &env.to_string())))
}

fn unknown(id: Id, env: u32, encoding: Encoding, open: Vec<u32>) -> GymReply {
    let message = format!("expected an open environment of this session, got {env}");
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
    fn single_slow_call_does_not_raise_the_cost_estimate() {
        let (quick, slow) = (Duration::from_micros(200), Duration::from_millis(20));
        let mut costs = Costs::guess(false);
        assert!(!stays(&costs, 16_384), "before the first measurement");
        costs.measure(STEP, 4_096, quick);
        assert!(stays(&costs, 16_384));
        costs.measure(STEP, 4_096, slow);
        assert!(stays(&costs, 16_384), "after one slow call");
        costs.measure(STEP, 4_096, slow);
        assert!(!stays(&costs, 4_096), "after two slow calls");
        costs.measure(STEP, 4_096, quick);
        assert!(stays(&costs, 4_096), "after a fast call");
    }

    #[test]
    fn small_batch_does_not_change_the_cost_estimate_of_large_batches() {
        let mut costs = Costs::guess(false);
        costs.measure(STEP, 4_096, Duration::from_micros(200));
        for _ in 0..3 {
            costs.measure(STEP, 1, Duration::from_micros(5));
        }
        assert!(stays(&costs, 4_096));
    }

    #[test]
    fn slow_agent_reply_raises_the_cost_estimate() {
        let mut costs = Costs::guess(true);
        assert!(!stays(&costs, 1));
        costs.measure(STEP, 4, Duration::from_micros(8));
        assert!(stays(&costs, 4));
        costs.measure(STEP, 1, Duration::from_millis(50));
        costs.measure(STEP, 4, Duration::from_micros(8));
        assert!(!stays(&costs, 1));
    }
}
