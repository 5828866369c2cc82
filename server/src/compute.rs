//! Scheduler for work that is too long for a connection task: large batches, searches,
//! verification, reports.
//!
//! Work is split into pieces, and each thread runs at most one piece at a time. Every piece belongs
//! to an owner. Owners get equal shares of compute time (fair queueing; Demers, Keshav and Shenker
//! 1989), so an owner with thousands of searches does not delay other owners. An owner below its
//! share waits until one running piece ends. After a short piece, the owner's next piece need not
//! wait. One additional short piece may run per thread, and the operating system divides the cores
//! among all pieces.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// Maximum number of blocking jobs. Each job has its own thread.
const WAITING: usize = 512;

/// Number of owners at which idle owners are removed.
const SWEEP: usize = 1_024;

/// Maximum duration of a short piece. If the last piece of an owner was short, the owner's next
/// piece counts as short too.
const SHORT: Duration = Duration::from_millis(20);

/// Thread pool with fair scheduling, and separate threads for blocking jobs.
#[derive(Clone)]
pub struct Compute {
    pool: Arc<rayon::ThreadPool>,
    turns: Arc<Turns>,
    waiting: Arc<Semaphore>,
}

/// Error of a job that panicked; the panic message is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job panicked")]
pub struct Panicked;

impl Compute {
    /// Creates a pool of `threads` threads, at least one.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot create the threads.
    pub fn new(threads: usize) -> anyhow::Result<Self> {
        let threads = threads.max(1);
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(2 * threads).thread_name(|k| format!("compute-{k}")).build()?;
        let state = State::new(threads);
        Ok(Compute {
            pool: Arc::new(pool),
            turns: Arc::new(Turns(Mutex::new(state))),
            waiting: Arc::new(Semaphore::new(WAITING)),
        })
    }

    /// Runs `job` on the pool when it is `owner`'s turn. The job is queued when the future is first
    /// polled. Dropping the future cancels a queued job; a running job continues.
    pub fn run<T: Send + 'static>(
        &self,
        owner: &Arc<str>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Panicked>> + Send + 'static {
        let (compute, owner) = (self.clone(), owner.clone());
        async move {
            let turn = compute.turns.ask(&owner).await.map_err(|_| Panicked)?;
            let (done, result) = oneshot::channel();
            compute.pool.spawn(move || {
                // A dropped receiver needs no result.
                let _ = done.send(caught("pool job", job));
                drop(turn);
            });
            result.await.map_err(|_| Panicked)?
        }
    }

    /// Runs a blocking job on a thread outside the pool.
    ///
    /// # Errors
    ///
    /// [`Panicked`] if `job` panics.
    pub async fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
        let place = self.waiting.clone().acquire_owned().await.map_err(|_| Panicked)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = caught("pool job", job);
            drop(place);
            result
        });
        done.await.map_err(|_| Panicked)?
    }

    /// Runs one piece of a [blocking job](Self::wait) on the job's own thread, when it is `owner`'s
    /// turn.
    pub fn piece<T>(&self, owner: &Arc<str>, piece: impl FnOnce() -> T) -> T {
        // The queue holds the sender and outlives this call.
        let turn = self.turns.ask(owner).blocking_recv();
        let result = piece();
        drop(turn);
        result
    }

    /// Returns the number of queued pieces.
    pub fn queued(&self) -> usize {
        self.turns.0.lock().owners.values().map(|owner| owner.waiting.len()).sum()
    }
}

/// Shared scheduler state. Pieces of one owner start in the order of their requests.
struct Turns(Mutex<State>);

struct State {
    /// Number of free turns for any piece.
    free: usize,
    /// Number of free turns for short pieces only.
    short: usize,
    /// Virtual time of the fair queue: the largest compute time of a scheduled owner at the start
    /// of its piece. New and returning owners start at this value.
    clock: Duration,
    /// Number of turns granted so far.
    given: u64,
    owners: HashMap<Arc<str>, Owner>,
}

struct Owner {
    /// Compute time used so far, at least the virtual time at which the owner became active.
    had: Duration,
    /// Duration of the last piece; zero before the first.
    last: Duration,
    /// Sequence number of the last turn.
    turn: u64,
    /// Number of running pieces.
    running: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

impl Owner {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting.is_empty()
    }

    /// Returns true if the owner has no running piece and its last piece was short.
    fn is_quick(&self) -> bool {
        self.running == 0 && self.turn > 0 && self.last <= SHORT
    }
}

impl State {
    fn new(threads: usize) -> Self {
        State { free: threads, short: threads, clock: Duration::ZERO, given: 0, owners: HashMap::new() }
    }

    /// Returns the owner `name`, creating it if necessary. An idle owner's compute time is raised
    /// to the virtual time.
    fn awake(&mut self, name: &Arc<str>) -> &mut Owner {
        if self.owners.len() >= SWEEP {
            let clock = self.clock;
            self.owners.retain(|_, owner| !owner.is_idle() || owner.had > clock);
        }
        let new = || Owner { had: self.clock, last: Duration::ZERO, turn: 0, running: 0, waiting: VecDeque::new() };
        let owner = self.owners.entry(name.clone()).or_insert_with(new);
        if owner.is_idle() {
            owner.had = owner.had.max(self.clock);
        }
        owner
    }

    /// Takes the next turn, for the owner with the fewest running pieces. Ties go to the owner with
    /// the least compute time after its piece. If all regular turns are taken, only short pieces
    /// get a turn.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Turn>, Lane)> {
        let lane = match (self.free, self.short) {
            (1.., _) => Lane::Any,
            (0, 1..) => Lane::Short,
            (0, 0) => return None,
        };
        let may = |owner: &Owner| !owner.waiting.is_empty() && (lane == Lane::Any || owner.is_quick());
        let waiting = self.owners.iter_mut().filter(|(_, owner)| may(owner));
        let (name, owner) = waiting.min_by_key(|(_, owner)| (owner.running, owner.had + owner.last, owner.turn))?;
        let next = owner.waiting.pop_front()?;
        self.given += 1;
        (owner.turn, self.clock) = (self.given, self.clock.max(owner.had));
        owner.running += 1;
        let name = name.clone();
        *self.turns_of(lane) -= 1;
        Some((name, next, lane))
    }

    fn turns_of(&mut self, lane: Lane) -> &mut usize {
        match lane {
            Lane::Any => &mut self.free,
            Lane::Short => &mut self.short,
        }
    }

    /// Returns a turn to the scheduler. `cost` is the duration of the piece; `None` if the caller
    /// dropped its request before the turn.
    fn back(&mut self, name: &Arc<str>, lane: Lane, cost: Option<Duration>) {
        *self.turns_of(lane) += 1;
        if let Some(owner) = self.owners.get_mut(name) {
            owner.running -= 1;
            if let Some(cost) = cost {
                (owner.had, owner.last) = (owner.had + cost, cost);
            }
        }
    }
}

/// Kind of turn: for any piece, or for short pieces only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Any,
    Short,
}

/// Permit to compute on one thread; released on drop.
struct Turn {
    /// Scheduler that takes the turn back on drop; `None` if the turn was never used.
    turns: Option<Arc<Turns>>,
    owner: Arc<str>,
    lane: Lane,
    from: Instant,
}

impl Turns {
    /// Queues a request of `owner` for a turn.
    fn ask(self: &Arc<Self>, owner: &Arc<str>) -> oneshot::Receiver<Turn> {
        let (give, coming) = oneshot::channel();
        let mut state = self.0.lock();
        state.awake(owner).waiting.push_back(give);
        self.hand_out(&mut state);
        coming
    }

    /// Grants free turns to queued requests.
    fn hand_out(self: &Arc<Self>, state: &mut State) {
        while let Some((owner, next, lane)) = state.next() {
            let turn = Turn { turns: Some(self.clone()), owner: owner.clone(), lane, from: Instant::now() };
            if let Err(mut turn) = next.send(turn) {
                // The caller dropped its request. The lock is held here, so the drop of the turn
                // must not release it.
                turn.turns = None;
                state.back(&owner, lane, None);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            let mut state = turns.0.lock();
            state.back(&self.owner, self.lane, Some(self.from.elapsed()));
            turns.hand_out(&mut state);
        }
    }
}

/// Runs `f`. If `f` panics, logs the panic and returns an error. State that `f` borrowed must not
/// be used after a panic.
///
/// # Errors
///
/// [`Panicked`] if `f` panics.
pub fn caught<T>(what: &str, f: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(job = what, panic = text, "job panicked");
        Panicked
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Arc<str> {
        Arc::from(name)
    }

    #[tokio::test]
    async fn job_panic_does_not_affect_other_jobs() {
        let compute = Compute::new(1).unwrap();
        let one = owner("one");
        assert_eq!(compute.run(&one, || -> u32 { panic!("on purpose") }).await, Err(Panicked));
        for k in 0..100 {
            assert_eq!(compute.run(&one, move || k).await, Ok(k));
        }
    }

    /// One owner queues a thousand jobs on one thread. The job of a second owner then finishes
    /// second or third.
    #[tokio::test]
    async fn owners_get_alternating_turns() {
        let compute = Compute::new(1).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let done = |name: &'static str| {
            let order = order.clone();
            move || order.lock().push(name)
        };
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let first = tokio::spawn(compute.run(&owner("hog"), move || gate.recv().is_ok()));
        tokio::task::yield_now().await;
        let mut jobs: Vec<_> = (0..1_000).map(|_| tokio::spawn(compute.run(&owner("hog"), done("hog")))).collect();
        tokio::task::yield_now().await;
        jobs.push(tokio::spawn(compute.run(&owner("good"), done("good"))));
        while compute.queued() < 1_001 {
            tokio::task::yield_now().await;
        }
        open.send(()).unwrap();
        assert!(first.await.unwrap().unwrap());
        for job in jobs {
            job.await.unwrap().unwrap();
        }
        let at = order.lock().iter().position(|name| *name == "good").unwrap();
        assert!(at <= 1, "{at}");
    }

    /// Five owners queue long pieces. A sixth owner, which queues occasional short pieces, is
    /// always next.
    #[test]
    fn owner_of_short_pieces_waits_for_one_long_piece() {
        let mut state = State { short: 0, ..State::new(1) };
        let good = owner("good");
        let ask = |state: &mut State, name: &Arc<str>| state.awake(name).waiting.push_back(oneshot::channel().0);
        let turn = |state: &mut State, good: &Arc<str>| {
            let (name, _, lane) = state.next().unwrap();
            let cost = Duration::from_millis(if name == *good { 1 } else { 60 });
            state.back(&name, lane, Some(cost));
            name
        };
        ask(&mut state, &good);
        turn(&mut state, &good);
        let mut turns = HashMap::new();
        for k in 0..5 {
            (0..100).for_each(|_| ask(&mut state, &owner(&format!("hog {k}"))));
        }
        // The first piece of a heavy owner has no known duration.
        (0..5).for_each(|_| drop(turn(&mut state, &good)));
        for _ in 0..400 {
            let hog = turn(&mut state, &good);
            *turns.entry(hog).or_insert(0) += 1;
            ask(&mut state, &good);
            assert_eq!(turn(&mut state, &good), good);
        }
        assert!(turns.len() == 5 && turns.values().all(|n| *n == 80), "hogs take turns: {turns:?}");
    }

    /// While long pieces hold all regular turns, each owner of short pieces runs one short piece.
    /// No other piece starts.
    #[test]
    fn short_pieces_run_while_long_pieces_hold_all_turns() {
        let mut state = State::new(1);
        let (hog, good, new) = (owner("hog"), owner("good"), owner("new"));
        let ask = |state: &mut State, name: &Arc<str>| state.awake(name).waiting.push_back(oneshot::channel().0);
        for (name, ms) in [(&hog, 200), (&good, 3)] {
            ask(&mut state, name);
            let (name, _, lane) = state.next().unwrap();
            state.back(&name, lane, Some(Duration::from_millis(ms)));
        }
        for name in [&hog, &hog, &good, &good, &new] {
            ask(&mut state, name);
        }
        let mut given = Vec::new();
        while let Some((name, _, lane)) = state.next() {
            given.push((name, lane));
        }
        // The new owner has used the least time, so its piece takes the turn. The second piece of
        // the good owner waits for the first.
        assert_eq!(given, [(new.clone(), Lane::Any), (good.clone(), Lane::Short)]);
        // The piece was long after all, so the next one waits for a regular turn.
        state.back(&good, Lane::Short, Some(Duration::from_millis(300)));
        assert!(state.next().is_none());
        state.back(&new, Lane::Any, Some(Duration::from_millis(1)));
        assert_eq!(state.next().map(|(name, _, lane)| (name, lane)), Some((hog, Lane::Any)));
        assert!(state.next().is_none());
    }

    /// An owner that computed alone is not penalized when a second owner arrives, and gains nothing
    /// by leaving.
    #[test]
    fn new_owner_gets_an_equal_share_from_its_arrival() {
        let mut state = State { short: 0, ..State::new(1) };
        let (early, late) = (owner("early"), owner("late"));
        let mut had = [0, 0];
        for round in 0..1_000 {
            for name in [&early, &late] {
                if (name == &early || round >= 500) && state.awake(name).waiting.is_empty() {
                    state.awake(name).waiting.push_back(oneshot::channel().0);
                }
            }
            let (name, _, lane) = state.next().unwrap();
            state.back(&name, lane, Some(Duration::from_millis(20)));
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
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let first = tokio::spawn(compute.run(&owner("a"), move || gate.recv().is_ok()));
        tokio::task::yield_now().await;
        let ran = Arc::new(Mutex::new(false));
        let flag = ran.clone();
        let second = tokio::spawn(compute.run(&owner("a"), move || *flag.lock() = true));
        tokio::task::yield_now().await;
        second.abort();
        assert!(second.await.unwrap_err().is_cancelled());
        open.send(()).unwrap();
        assert!(first.await.unwrap().unwrap());
        assert_eq!(compute.run(&owner("b"), || 7).await, Ok(7), "the turn is free again");
        assert!(!*ran.lock());
    }
}
