//! Scheduling of work that is too long for a connection task: searches, large batches, verification, reports.
//!
//! A job belongs to an owner and computes only while it holds a turn: the right to use one core. After a slice of 20
//! milliseconds, the job gives up the turn at its next pause ([`CurrentJob`]) and waits until its owner is due again.
//! Owners get equal shares of compute time (fair queueing; Demers, Keshav and Shenker 1989), so an owner with thousands
//! of searches delays each other owner by one slice. Dropping a [`Job`] stops the job at its next pause.
//!
//! A paused job keeps its memory, so the number of started jobs is limited. At the limit, an owner without a started
//! job need not wait: the scheduler stops a paused [interruptible](Job::interruptible) job of a different owner.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ludex_env::{Scheduler, Stopped};
use ludex_protocol::{ErrorCode, Refusal};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};

/// Maximum number of blocking jobs, each on its own thread.
const BLOCKING: usize = 512;

/// Maximum number of started jobs, including paused jobs. Each job has its own thread.
const STARTED: usize = 256;

/// Number of owners that triggers the removal of idle owners.
const SWEEP: usize = 1_024;

/// Duration after which a job gives up its turn.
const SLICE: Duration = Duration::from_millis(20);

/// Maximum time to wait for blocking jobs when the server stops.
const GOODBYE: Duration = Duration::from_millis(500);

/// Fair scheduler of jobs, with separate threads for blocking jobs.
#[derive(Clone)]
pub struct Compute {
    turns: Arc<Turns>,
    blocking: Arc<Semaphore>,
}

/// Failure of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Panic of the job. The message is logged.
    #[error("the job panicked")]
    Panicked,
    /// Cancellation of the job, or shutdown of the scheduler, before the job ended.
    #[error("the job was stopped")]
    Stopped,
}

/// Handle of a job; a future that resolves to the job's result. Dropping the handle stops the job.
pub struct Job<T> {
    result: oneshot::Receiver<Result<T, JobError>>,
    control: Arc<Control>,
    turns: Arc<Turns>,
}

impl<T> Future for Job<T> {
    type Output = Result<T, JobError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.result).poll(context).map(|result| result.unwrap_or(Err(JobError::Stopped)))
    }
}

impl<T> Job<T> {
    /// Allows the scheduler to stop the job while it is paused, if too many jobs are started.
    pub fn interruptible(self) -> Self {
        self.control.interruptible.store(true, Ordering::Relaxed);
        self
    }

    /// Returns a switch that suspends the job.
    pub fn switch(&self) -> JobSwitch {
        JobSwitch { control: self.control.clone(), turns: self.turns.clone() }
    }
}

/// Switch that suspends and resumes a job.
pub struct JobSwitch {
    control: Arc<Control>,
    turns: Arc<Turns>,
}

impl JobSwitch {
    /// Suspends the job at its next pause.
    pub fn suspend(&self) {
        self.control.suspended.store(true, Ordering::Relaxed);
    }

    /// Allows a suspended job to continue when its owner gets the next turn.
    pub fn resume(&self) {
        self.control.suspended.store(false, Ordering::Relaxed);
        self.turns.hand_out(&mut self.turns.state.lock());
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.control.stopped.store(true, Ordering::Relaxed);
        // A paused job must not wait for a turn in order to end.
        self.turns.state.lock().withdraw(&self.control);
    }
}

impl Compute {
    /// Creates a scheduler of `cores` concurrent turns, at least one.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot create a runtime.
    pub fn new(cores: usize) -> anyhow::Result<Self> {
        let threads = Threads::new()?;
        let turns = Arc::new(Turns { state: Mutex::new(State::new(cores.max(1))), threads });
        Ok(Compute { turns, blocking: Arc::new(Semaphore::new(BLOCKING)) })
    }

    /// Queues `work` as a job of `owner`.
    pub fn run<T: Send + 'static>(&self, owner: &Arc<str>, work: impl FnOnce() -> T + Send + 'static) -> Job<T> {
        let (done, result) = oneshot::channel();
        let control = Arc::new(Control::new(owner.clone()));
        #[cfg(feature = "testing")]
        if inline::is_set() {
            let _ = done.send(caught("job", work));
            return Job { result, control, turns: self.turns.clone() };
        }
        let (own, turns) = (control.clone(), self.turns.clone());
        let start = Box::new(move || {
            let result = Turn { turns, control: own, held: true, from: Instant::now() }.compute(work);
            // Fails if the handle was dropped; the result is then not needed.
            let _ = done.send(result);
        });
        self.turns.request(QueuedJob { control: control.clone(), start: Some(start) });
        Job { result, control, turns: self.turns.clone() }
    }

    /// Runs a blocking job outside of the scheduler.
    ///
    /// # Errors
    ///
    /// [`JobError::Panicked`] if `job` panics, [`JobError::Stopped`] if the server stops before `job` starts.
    pub async fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, JobError> {
        let permit = self.blocking.clone().acquire_owned().await.map_err(|_| JobError::Stopped)?;
        let (done, result) = oneshot::channel();
        self.turns.threads.spawn(move || {
            let _ = done.send(caught("blocking job", job));
            drop(permit);
        });
        result.await.unwrap_or(Err(JobError::Stopped))
    }

    /// Returns the number of jobs that wait for a turn.
    pub fn queued(&self) -> usize {
        self.turns.state.lock().owners.values().map(|owner| owner.waiting.len()).sum()
    }

    /// Stops all jobs and refuses new jobs. Blocking jobs continue.
    pub fn stop(&self) {
        self.turns.state.lock().stop();
    }

    /// Stops all jobs, and waits half a second for blocking jobs.
    pub async fn close(&self) {
        self.stop();
        let all = self.blocking.acquire_many(BLOCKING as u32);
        let _ = tokio::time::timeout(GOODBYE, all).await;
        self.blocking.close();
    }
}

/// Jobs on the thread that submits them, for simulations. In virtual time, a job on another thread takes any time: the clock
/// runs on whenever the thread of the simulation has nothing to do.
#[cfg(feature = "testing")]
pub mod inline {
    use std::cell::Cell;

    thread_local! {
        static SET: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs each job that this thread submits from now on at once.
    pub fn set() {
        SET.set(true);
    }

    pub(super) fn is_set() -> bool {
        SET.get()
    }
}

/// Scheduler of the job on the current thread. Outside of jobs, a pause does nothing.
pub struct CurrentJob;

thread_local! {
    static CURRENT: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

impl Scheduler for CurrentJob {
    fn pause(&self) -> Result<(), Stopped> {
        CURRENT.with_borrow_mut(|turn| turn.as_mut().map_or(Ok(()), Turn::pause))
    }
}

/// Runtime whose blocking threads run all jobs. Dropping the runtime does not wait for the jobs.
struct Threads(Option<Runtime>);

impl Threads {
    fn new() -> std::io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder
            .max_blocking_threads(STARTED + BLOCKING)
            .thread_name("compute")
            .build()
            .map(|runtime| Threads(Some(runtime)))
    }

    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        if let Some(runtime) = &self.0 {
            drop(runtime.spawn_blocking(work));
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// State that a job, its handle and the scheduler share.
struct Control {
    owner: Arc<str>,
    stopped: AtomicBool,
    suspended: AtomicBool,
    interruptible: AtomicBool,
    /// True while the job holds a turn; changed under the scheduler's lock.
    granted: Mutex<bool>,
    changed: Condvar,
}

impl Control {
    fn new(owner: Arc<str>) -> Self {
        let [stopped, suspended, interruptible] = [false; 3].map(AtomicBool::new);
        Control { owner, stopped, suspended, interruptible, granted: Mutex::new(true), changed: Condvar::new() }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn is_suspended(&self) -> bool {
        self.suspended.load(Ordering::Relaxed)
    }

    fn is_interruptible(&self) -> bool {
        self.interruptible.load(Ordering::Relaxed)
    }

    /// Wakes a paused job. `granted` is false for a stopped job, which ends without a turn.
    fn wake(&self, granted: bool) {
        *self.granted.lock() = granted;
        self.changed.notify_one();
    }
}

/// Turn of a started job; given up on drop.
struct Turn {
    turns: Arc<Turns>,
    control: Arc<Control>,
    /// False if the job was stopped during a pause, while it held no turn.
    held: bool,
    /// Start of the slice.
    from: Instant,
}

impl Turn {
    /// Runs `work` on this thread.
    fn compute<T>(self, work: impl FnOnce() -> T) -> Result<T, JobError> {
        let control = self.control.clone();
        if control.is_stopped() {
            return Err(JobError::Stopped);
        }
        CURRENT.set(Some(self));
        let result = caught("job", work);
        drop(CURRENT.take());
        // The result of a stopped job may be incomplete.
        if control.is_stopped() { Err(JobError::Stopped) } else { result }
    }

    fn pause(&mut self) -> Result<(), Stopped> {
        let control = &self.control;
        if !control.is_stopped() && (control.is_suspended() || self.from.elapsed() >= SLICE) {
            self.turns.exchange(control, self.from.elapsed());
            let mut granted = control.granted.lock();
            control.changed.wait_while(&mut granted, |granted| !*granted && !control.is_stopped());
            drop(granted);
            self.held = !control.is_stopped() || self.turns.state.lock().withdraw(control);
            self.from = Instant::now();
        }
        if control.is_stopped() { Err(Stopped) } else { Ok(()) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.held {
            self.turns.finish(&self.control, self.from.elapsed());
        } else {
            // The job was removed when it was stopped, so a queued job may now be able to start.
            self.turns.hand_out(&mut self.turns.state.lock());
        }
    }
}

/// Job that waits for a turn.
struct QueuedJob {
    control: Arc<Control>,
    /// Work of a job that has not started; `None` for a paused job.
    start: Option<Box<dyn FnOnce() + Send>>,
}

/// Scheduler with the threads of its jobs.
struct Turns {
    state: Mutex<State>,
    threads: Threads,
}

struct State {
    /// Number of free turns.
    free: usize,
    /// Number of started jobs.
    started: usize,
    /// Maximum number of started jobs per owner: one per turn, but at least two, so that a paused job does not block
    /// the owner.
    started_per_owner: usize,
    /// Virtual time: the largest compute time that an owner had when one of the owner's jobs got a turn. The compute
    /// time of new and returning owners is at least this value.
    clock: Duration,
    /// Number of turns granted so far.
    given: u64,
    /// True once the server stops.
    stopped: bool,
    owners: HashMap<Arc<str>, Owner>,
}

#[derive(Default)]
struct Owner {
    /// Compute time used so far; raised to the virtual time when an idle owner becomes active.
    had: Duration,
    /// Duration of the last slice; zero before the first slice.
    last: Duration,
    /// Sequence number of the last turn.
    turn: u64,
    /// Number of turns that the owner's jobs hold.
    running: usize,
    /// Number of started jobs.
    started: usize,
    waiting: VecDeque<QueuedJob>,
}

impl Owner {
    fn is_idle(&self) -> bool {
        self.started == 0 && self.waiting.is_empty()
    }
}

impl State {
    fn new(cores: usize) -> Self {
        State {
            free: cores,
            started: 0,
            started_per_owner: cores.max(2),
            clock: Duration::ZERO,
            given: 0,
            stopped: false,
            owners: HashMap::new(),
        }
    }

    /// Returns the owner `name`, creating the owner if necessary. An idle owner's compute time is raised
    /// to the virtual time.
    fn awake(&mut self, name: &Arc<str>) -> &mut Owner {
        if self.owners.len() >= SWEEP {
            let clock = self.clock;
            self.owners.retain(|_, owner| !owner.is_idle() || owner.had > clock);
        }
        let owner = self.owners.entry(name.clone()).or_default();
        if owner.is_idle() {
            owner.had = owner.had.max(self.clock);
        }
        owner
    }

    /// Grants a turn to the next job and removes the job from its queue. Selects the owner that holds the fewest turns;
    /// among equal owners, the owner with the smallest sum of compute time and last slice. Of that owner's jobs,
    /// selects the first job that is paused or may start. Skips suspended jobs.
    fn next(&mut self) -> Option<QueuedJob> {
        if self.free == 0 {
            return None;
        }
        if self.started >= STARTED {
            self.interrupt();
        }
        let room = self.started < STARTED;
        let due = |owner: &Owner| {
            let may_start = room && owner.started < self.started_per_owner;
            let due = |job: &QueuedJob| !job.control.is_suspended() && (job.start.is_none() || may_start);
            owner.waiting.iter().position(due)
        };
        let due = self.owners.values_mut().filter_map(|owner| Some((due(owner)?, owner)));
        let (at, owner) = due.min_by_key(|(_, owner)| (owner.running, owner.had + owner.last, owner.turn))?;
        let job = owner.waiting.remove(at)?;
        self.given += 1;
        (owner.turn, self.clock) = (self.given, self.clock.max(owner.had));
        owner.running += 1;
        self.free -= 1;
        if job.start.is_some() {
            owner.started += 1;
            self.started += 1;
        }
        Some(job)
    }

    /// Takes back a turn from `owner` after a slice of length `cost`.
    fn release(&mut self, owner: &Arc<str>, cost: Duration) {
        self.free += 1;
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.running -= 1;
            (owner.had, owner.last) = (owner.had + cost, cost);
        }
    }

    /// Stops a paused interruptible job if an owner without a started job is waiting. Prefers a suspended job, then
    /// a job of the owner with the most compute time.
    fn interrupt(&mut self) {
        let waits = |owner: &Owner| owner.started == 0 && owner.waiting.iter().any(|job| !job.control.is_suspended());
        if !self.owners.values().any(waits) {
            return;
        }
        let paused = self.owners.values().flat_map(|owner| owner.waiting.iter().map(move |job| (owner.had, job)));
        let paused = paused.filter(|(_, job)| job.start.is_none() && job.control.is_interruptible());
        let job =
            paused.max_by_key(|(had, job)| (job.control.is_suspended(), *had)).map(|(_, job)| job.control.clone());
        if let Some(control) = job {
            tracing::warn!(owner = &*control.owner, "job interrupted: too many jobs are started");
            control.stopped.store(true, Ordering::Relaxed);
            self.withdraw(&control);
        }
    }

    /// Removes a stopped job from the queue. A paused job also stops counting as started, and continues without a turn
    /// until it ends. Returns true if the job holds a turn.
    fn withdraw(&mut self, control: &Arc<Control>) -> bool {
        let owner = self.owners.get_mut(&control.owner);
        let queued = owner.and_then(|owner| {
            let at = owner.waiting.iter().position(|job| Arc::ptr_eq(&job.control, control))?;
            owner.waiting.remove(at)
        });
        if let Some(QueuedJob { start: None, .. }) = queued {
            self.end(control);
            control.wake(false);
        }
        *control.granted.lock()
    }

    /// Subtracts a job from the numbers of started jobs.
    fn end(&mut self, control: &Control) {
        self.started -= 1;
        if let Some(owner) = self.owners.get_mut(&control.owner) {
            owner.started -= 1;
        }
    }

    /// Stops all jobs. Jobs without a turn end immediately; jobs with a turn end after their slice.
    fn stop(&mut self) {
        self.stopped = true;
        let queued: Vec<_> = self.owners.values_mut().flat_map(|owner| owner.waiting.drain(..)).collect();
        for job in queued {
            job.control.stopped.store(true, Ordering::Relaxed);
            if job.start.is_none() {
                self.end(&job.control);
                job.control.wake(false);
            }
        }
    }
}

impl Turns {
    fn request(&self, job: QueuedJob) {
        let mut state = self.state.lock();
        if !state.stopped {
            let owner = job.control.owner.clone();
            state.awake(&owner).waiting.push_back(job);
            self.hand_out(&mut state);
        }
    }

    /// Takes back a job's turn, which lasted for `cost`, and queues the job for another turn.
    fn exchange(&self, control: &Arc<Control>, cost: Duration) {
        let mut state = self.state.lock();
        state.release(&control.owner, cost);
        *control.granted.lock() = false;
        if state.stopped {
            control.stopped.store(true, Ordering::Relaxed);
            state.end(control);
        } else if let Some(owner) = state.owners.get_mut(&control.owner) {
            owner.waiting.push_back(QueuedJob { control: control.clone(), start: None });
        }
        self.hand_out(&mut state);
    }

    /// Removes a job that has ended and takes back its turn, which lasted for `cost`.
    fn finish(&self, control: &Control, cost: Duration) {
        let mut state = self.state.lock();
        state.end(control);
        state.release(&control.owner, cost);
        self.hand_out(&mut state);
    }

    /// Grants free turns to queued jobs.
    fn hand_out(&self, state: &mut State) {
        while let Some(job) = state.next() {
            match job.start {
                Some(start) => self.threads.spawn(start),
                None => job.control.wake(true),
            }
        }
    }
}

/// Returns the refusal for an internal error of the server, such as a job that panicked.
pub fn internal() -> Box<Refusal> {
    Box::new(Refusal::new(ErrorCode::Internal, "internal error; see the server log"))
}

/// Runs `f`. If `f` panics, logs the panic and returns an error. State that `f` borrowed must not
/// be used after a panic.
///
/// # Errors
///
/// [`JobError::Panicked`] if `f` panics.
pub fn caught<T>(what: &str, f: impl FnOnce() -> T) -> Result<T, JobError> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(job = what, panic = text, "job panicked");
        JobError::Panicked
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc;

    use super::*;

    fn owner(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    /// Sleeps in steps of a millisecond until the job is stopped. Returns the number of steps.
    fn endless(steps: &AtomicU64) -> u64 {
        while CurrentJob.pause().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
            steps.fetch_add(1, Ordering::Relaxed);
        }
        steps.load(Ordering::Relaxed)
    }

    fn queue(state: &mut State, name: &Arc<str>) {
        let control = Arc::new(Control::new(name.clone()));
        state.awake(name).waiting.push_back(QueuedJob { control, start: Some(Box::new(|| ())) });
    }

    /// Ends a job that ran for `cost`.
    fn end(state: &mut State, name: &Arc<str>, cost: u64) {
        state.started -= 1;
        state.owners.get_mut(name).unwrap().started -= 1;
        state.release(name, Duration::from_millis(cost));
    }

    #[tokio::test]
    async fn job_panic_does_not_affect_other_jobs() {
        let compute = Compute::new(1).unwrap();
        let one = owner("one");
        assert_eq!(compute.run(&one, || -> u32 { panic!("on purpose") }).await, Err(JobError::Panicked));
        for k in 0..100 {
            assert_eq!(compute.run(&one, move || k).await, Ok(k));
        }
    }

    /// With a single turn, one owner queues a thousand jobs, and then another owner queues one job. The latter job
    /// finishes second or third.
    #[tokio::test]
    async fn owners_get_alternating_turns() {
        let compute = Compute::new(1).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let done = |name: &'static str| {
            let order = order.clone();
            move || order.lock().push(name)
        };
        let (open, gate) = mpsc::channel::<()>();
        let first = compute.run(&owner("hog"), move || gate.recv().is_ok());
        let mut jobs: Vec<_> = (0..1_000).map(|_| compute.run(&owner("hog"), done("hog"))).collect();
        jobs.push(compute.run(&owner("good"), done("good")));
        assert_eq!(compute.queued(), 1_001);
        open.send(()).unwrap();
        assert!(first.await.unwrap());
        for job in jobs {
            job.await.unwrap();
        }
        let at = order.lock().iter().position(|name| *name == "good").unwrap();
        assert!(at <= 1, "{at}");
    }

    /// Endless jobs of one owner compete for the only turn. Jobs of another owner still finish.
    #[tokio::test]
    async fn endless_jobs_give_turns_to_other_owners() {
        let compute = Compute::new(1).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let endless = || {
            let steps = steps.clone();
            compute.run(&owner("hog"), move || endless(&steps))
        };
        let hogs = [endless(), endless(), endless()];
        for k in 0..10 {
            assert_eq!(compute.run(&owner("good"), move || k).await, Ok(k));
        }
        let before = steps.load(Ordering::Relaxed);
        while steps.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
        drop(hogs);
        // All threads end, so the turn is free and a job of the same owner starts.
        assert_eq!(compute.run(&owner("hog"), || 7).await, Ok(7));
        while compute.turns.state.lock().started > 0 {
            tokio::task::yield_now().await;
        }
        let state = compute.turns.state.lock();
        assert_eq!((state.free, state.owners.values().all(Owner::is_idle)), (1, true));
    }

    #[tokio::test]
    async fn suspended_job_continues_when_resumed() {
        let compute = Compute::new(1).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let own = steps.clone();
        let job = compute.run(&owner("a"), move || endless(&own));
        let steps = || steps.load(Ordering::Relaxed);
        while steps() == 0 {
            tokio::task::yield_now().await;
        }
        let switch = job.switch();
        switch.suspend();
        while compute.queued() == 0 {
            tokio::task::yield_now().await;
        }
        let before = steps();
        assert_eq!(compute.run(&owner("b"), || 7).await, Ok(7), "the turn of the suspended job is free");
        assert_eq!(steps(), before);
        switch.resume();
        while steps() == before {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn close_stops_running_and_queued_jobs() {
        let compute = Compute::new(1).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let (own, queued) = (steps.clone(), compute.clone());
        let running = compute.run(&owner("a"), move || endless(&own));
        while steps.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let queued = [queued.run(&owner("b"), || 0), queued.run(&owner("c"), || 0)];
        compute.close().await;
        assert_eq!(running.await, Err(JobError::Stopped));
        // One of the queued jobs may have finished while the running job was paused.
        for job in queued {
            assert!(matches!(job.await, Ok(0) | Err(JobError::Stopped)));
        }
        assert_eq!(compute.run(&owner("a"), || 0).await, Err(JobError::Stopped));
        assert_eq!(compute.wait(|| 0).await, Err(JobError::Stopped));
    }

    /// Five owners queue long jobs. A sixth owner queues one short job at a time, which always runs next.
    #[test]
    fn owner_of_short_jobs_waits_at_most_one_time_slice() {
        let mut state = State::new(1);
        let good = owner("good");
        let turn = |state: &mut State, good: &Arc<str>| {
            let name = state.next().unwrap().control.owner.clone();
            end(state, &name, if name == *good { 1 } else { 60 });
            name
        };
        queue(&mut state, &good);
        turn(&mut state, &good);
        let mut turns = HashMap::new();
        for k in 0..5 {
            (0..100).for_each(|_| queue(&mut state, &owner(&format!("hog {k}"))));
        }
        // A heavy owner's slice has no known duration before the first one, so these turns are not compared.
        (0..5).for_each(|_| drop(turn(&mut state, &good)));
        for _ in 0..400 {
            let hog = turn(&mut state, &good);
            *turns.entry(hog).or_insert(0) += 1;
            queue(&mut state, &good);
            assert_eq!(turn(&mut state, &good), good);
        }
        assert!(turns.len() == 5 && turns.values().all(|n| *n == 80), "hogs take turns: {turns:?}");
    }

    /// With two cores, an owner starts two jobs. The third job waits until a started job ends; a pause is not enough.
    #[test]
    fn owner_has_at_most_two_started_jobs_on_two_cores() {
        let mut state = State::new(2);
        let hog = owner("hog");
        (0..3).for_each(|_| queue(&mut state, &hog));
        let started = [state.next(), state.next()].map(Option::unwrap);
        let paused = started[0].control.clone();
        state.release(&hog, SLICE);
        assert!(state.next().is_none(), "two jobs are started");
        state.awake(&hog).waiting.push_back(QueuedJob { control: paused.clone(), start: None });
        assert!(Arc::ptr_eq(&state.next().unwrap().control, &paused), "the paused job precedes new ones");
        end(&mut state, &hog, 20);
        assert!(state.next().unwrap().start.is_some());
    }

    /// The maximum number of jobs is started, and all are paused. A new owner's job replaces an interruptible job.
    #[test]
    fn new_owner_replaces_a_started_job_at_the_maximum() {
        let mut state = State::new(1);
        let pause_one = |k: usize, state: &mut State| {
            queue(state, &owner(&format!("hog {k}")));
            let control = state.next().unwrap().control;
            control.interruptible.store(k % 2 == 1, Ordering::Relaxed);
            *control.granted.lock() = false;
            state.release(&control.owner, Duration::from_millis(k as u64));
            state.awake(&control.owner).waiting.push_back(QueuedJob { control: control.clone(), start: None });
            control
        };
        let paused: Vec<_> = (0..STARTED).map(|k| pause_one(k, &mut state)).collect();
        let stopped = || (0..STARTED).filter(|&k| paused[k].is_stopped()).collect::<Vec<_>>();
        queue(&mut state, &owner("late"));
        assert_eq!(&*state.next().unwrap().control.owner, "late");
        assert_eq!((stopped(), state.started), (vec![STARTED - 1], STARTED), "the job of the owner with the most time");
        // A suspended job is stopped first, since its client is not connected.
        paused[1].suspended.store(true, Ordering::Relaxed);
        state.release(&owner("late"), Duration::ZERO);
        queue(&mut state, &owner("later"));
        assert_eq!(&*state.next().unwrap().control.owner, "later");
        assert_eq!((stopped(), state.started), (vec![1, STARTED - 1], STARTED));
    }

    /// An owner that computed alone is not penalized when a second owner arrives, and gains nothing
    /// by leaving.
    #[test]
    fn new_owner_gets_an_equal_share_from_its_arrival() {
        let mut state = State::new(1);
        let (early, late) = (owner("early"), owner("late"));
        let mut had = [0, 0];
        for round in 0..1_000 {
            for name in [&early, &late] {
                if (name == &early || round >= 500) && state.awake(name).waiting.is_empty() {
                    queue(&mut state, name);
                }
            }
            let name = state.next().unwrap().control.owner.clone();
            end(&mut state, &name, 20);
            had[usize::from(name == late)] += 1;
        }
        assert!((749..=751).contains(&had[0]), "{had:?}");
        for k in 0..2 * SWEEP {
            state.awake(&owner(&format!("passer-by {k}")));
        }
        assert!(state.owners.len() <= SWEEP + 1, "{}", state.owners.len());
    }

    #[tokio::test]
    async fn dropped_job_does_not_start() {
        let compute = Compute::new(1).unwrap();
        let (open, gate) = mpsc::channel::<()>();
        let first = compute.run(&owner("a"), move || gate.recv().is_ok());
        let ran = Arc::new(AtomicBool::new(false));
        let flag = ran.clone();
        drop(compute.run(&owner("a"), move || flag.store(true, Ordering::Relaxed)));
        open.send(()).unwrap();
        assert!(first.await.unwrap());
        assert_eq!(compute.run(&owner("b"), || 7).await, Ok(7), "the turn is free again");
        assert!(!ran.load(Ordering::Relaxed));
    }
}
