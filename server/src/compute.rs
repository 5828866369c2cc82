//! Work that takes longer than a socket should wait: big batches, searches, verification, reports.
//!
//! As many pieces of work run at once as there are threads. Each piece belongs to an owner, and owners take turns: who has
//! asked for thousands of searches waits for them, and everybody else waits for one at most.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// Jobs that may wait for something at the same time, each on a thread of its own.
const WAITING: usize = 512;

/// A pool of threads with fair turns, and threads beside it for jobs that wait.
#[derive(Clone)]
pub struct Compute {
    pool: Arc<rayon::ThreadPool>,
    turns: Arc<Turns>,
    waiting: Arc<Semaphore>,
}

/// The job panicked; the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the job panicked")]
pub struct Panicked;

impl Compute {
    /// A pool of `threads` (at least one).
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn new(threads: usize) -> anyhow::Result<Self> {
        let threads = threads.max(1);
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|k| format!("compute-{k}")).build()?;
        let state = State { free: threads, ring: VecDeque::new(), queues: HashMap::new() };
        Ok(Compute {
            pool: Arc::new(pool),
            turns: Arc::new(Turns(Mutex::new(state))),
            waiting: Arc::new(Semaphore::new(WAITING)),
        })
    }

    /// Runs `job` on the pool when it is `owner`'s turn. The job waits from the first poll of the future. It is forgotten
    /// if the future is dropped before its turn, and continues if it is dropped later.
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
                // A receiver that is gone wanted no result.
                let _ = done.send(caught("a job", job));
                drop(turn);
            });
            result.await.map_err(|_| Panicked)?
        }
    }

    /// Runs a job that waits for something other than its own computing, beside the pool.
    ///
    /// # Errors
    /// When `job` panicked.
    pub async fn wait<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Panicked> {
        let place = self.waiting.clone().acquire_owned().await.map_err(|_| Panicked)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = caught("a job", job);
            drop(place);
            result
        });
        done.await.map_err(|_| Panicked)?
    }

    /// Runs one piece of a job that [waits](Self::wait), on its thread, when it is `owner`'s turn.
    pub fn piece<T>(&self, owner: &Arc<str>, piece: impl FnOnce() -> T) -> T {
        // The other end is in the queue, and the queue outlives this.
        let turn = self.turns.ask(owner).blocking_recv();
        let result = piece();
        drop(turn);
        result
    }

    /// How many pieces of work wait for their turn.
    pub fn queued(&self) -> usize {
        self.turns.0.lock().queues.values().map(VecDeque::len).sum()
    }
}

/// Who may compute now. Owners that wait take turns; the pieces of one owner are taken in their order.
struct Turns(Mutex<State>);

struct State {
    /// Turns that nobody has.
    free: usize,
    /// Owners that wait, the next one first.
    ring: VecDeque<Arc<str>>,
    /// What each of them waits with.
    queues: HashMap<Arc<str>, VecDeque<oneshot::Sender<Turn>>>,
}

/// The right to compute on one thread, until it is dropped.
struct Turn(Option<Arc<Turns>>);

impl Turns {
    /// A turn for `owner`, as soon as it comes.
    fn ask(self: &Arc<Self>, owner: &Arc<str>) -> oneshot::Receiver<Turn> {
        let (give, coming) = oneshot::channel();
        let mut state = self.0.lock();
        let queue = state.queues.entry(owner.clone()).or_default();
        queue.push_back(give);
        if queue.len() == 1 {
            state.ring.push_back(owner.clone());
        }
        self.hand_out(&mut state);
        coming
    }

    /// Gives free turns to those who wait.
    fn hand_out(self: &Arc<Self>, state: &mut State) {
        while state.free > 0 {
            let Some(owner) = state.ring.pop_front() else { return };
            let Some(queue) = state.queues.get_mut(&owner) else { continue };
            let next = queue.pop_front();
            if queue.is_empty() {
                state.queues.remove(&owner);
            } else {
                state.ring.push_back(owner);
            }
            let Some(next) = next else { continue };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => state.free -= 1,
                // Who asked is gone. The turn was never taken off, so it must not come back.
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            let mut state = turns.0.lock();
            state.free += 1;
            turns.hand_out(&mut state);
        }
    }
}

/// Runs `f`; a panic is logged and becomes an error. What `f` held is to be thrown away then.
///
/// # Errors
/// When `f` panicked.
pub fn caught<T>(what: &str, f: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!("{what} panicked: {text}");
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
    async fn a_panic_costs_nobody_else_anything() {
        let compute = Compute::new(1).unwrap();
        let one = owner("one");
        assert_eq!(compute.run(&one, || -> u32 { panic!("on purpose") }).await, Err(Panicked));
        for k in 0..100 {
            assert_eq!(compute.run(&one, move || k).await, Ok(k));
        }
    }

    /// One thread, a thousand jobs of one owner and then one of another: it is the second or third that is done.
    #[tokio::test]
    async fn owners_take_turns() {
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

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_not_begun() {
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
