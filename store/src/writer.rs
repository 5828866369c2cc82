//! StoreWriter thread, which stores queued writes in order, many per transaction, and acknowledges them after the commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::engine::{Engine, ReadPool, WriteConnection};
use super::statements;
use super::{Commits, StoreCell, StoreError, Write};

/// Maximum number of queued jobs; callers wait while the queue is full.
pub(super) const QUEUE: usize = 8_192;

/// Maximum number of jobs per transaction.
const BATCH: usize = 1_024;

/// Time for which writes without a waiting caller are collected, so that they share one commit.
const LINGER: Duration = Duration::from_millis(50);

/// Interval between the renewals of ownership that does not lapse.
const NEVER: Duration = Duration::from_secs(86_400);

/// Interval at which writes that failed for a passing reason are tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Consecutive failures after which the remaining writes are not tried in the same pass.
const FAILURES: usize = 16;

/// Counter that is written to find out whether a failed disk works again.
const PROBE: &str = "probe";

type Ack<T = Result<(), StoreError>> = oneshot::Sender<T>;

/// Groups of writes, and the caller to notify. The writes of a group are stored together or not at all.
pub(super) struct PendingWrites {
    pub groups: Vec<Vec<Write>>,
    pub done: Completion,
}

pub(super) enum Completion {
    /// Notify the caller of the result of each group when the writes are durable.
    Durable(Ack<Vec<Result<(), StoreError>>>),
    /// Notify no caller of the result.
    Behind,
    /// Notify the caller when no earlier asynchronous write is to be tried again.
    Settle(Ack),
    /// Notify the caller when all earlier writes are durable, and report the first failure of an asynchronous write.
    Flush(Ack),
    /// Flush, then stop the writer.
    Close(Ack),
}

/// Time until which no other server can own the store; `None` for a store whose ownership does not lapse.
#[derive(Clone, Default)]
pub(super) struct LeaseTime(Arc<Mutex<Option<Instant>>>);

impl LeaseTime {
    /// Returns true if the store still has this owner.
    pub fn is_valid(&self) -> bool {
        self.0.lock().is_none_or(|until| Instant::now() < until)
    }

    /// Notes a commit that was sent at `begun`. The margin of a third of the lease is for clocks that differ in speed.
    fn renew(&self, begun: Instant, renewal: Option<Duration>) {
        *self.0.lock() = renewal.map(|renewal| begun + 2 * renewal);
    }
}

/// Progress of a writer, as its store reports it.
#[derive(Clone, Default)]
pub(super) struct WriterProgress(Arc<Mutex<Progress>>);

#[derive(Default)]
struct Progress {
    /// Start of the current commit.
    since: Option<tokio::time::Instant>,
    /// Passing error of the last commit.
    failed: Option<StoreError>,
}

impl WriterProgress {
    /// Returns the time since the start of the current commit.
    pub fn commit_time(&self) -> Option<Duration> {
        self.0.lock().since.map(|since| since.elapsed())
    }

    /// Returns the error of the last commit, if the reason may pass.
    pub fn failure(&self) -> Option<StoreError> {
        self.0.lock().failed.clone()
    }

    fn start(&self) {
        self.0.lock().since = Some(tokio::time::Instant::now());
    }

    fn end(&self, result: &Result<(), StoreError>) {
        let mut progress = self.0.lock();
        progress.since = None;
        match result {
            Err(error) if error.is_passing() => progress.failed = Some(error.clone()),
            // The database has worked, whatever it thinks of the batch.
            _ => progress.failed = None,
        }
    }
}

/// Channels between the handles of a store and its writer.
pub(super) struct WriterChannels {
    pub queue: mpsc::Receiver<PendingWrites>,
    /// Number of queued asynchronous jobs, and of groups that are to be tried again.
    pub behind: Arc<AtomicUsize>,
    /// Receives the error after which the writer stores nothing more.
    pub lost: watch::Sender<Option<StoreError>>,
    pub lease: LeaseTime,
    pub progress: WriterProgress,
}

/// Opens a database and starts its writer on a thread of its own, so that the store does not depend on a caller's runtime.
/// Returns the owned cell and the connections for reads.
pub(super) async fn spawn(
    open: impl AsyncFnOnce() -> Result<Engine, StoreError> + Send + 'static,
    commits: Commits,
    channels: WriterChannels,
) -> Result<(StoreCell, Arc<dyn ReadPool>), StoreError> {
    let io = |why| StoreError::Io { place: "the thread of the store".to_owned(), why: Arc::new(why) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io)?;
    let (opened, result) = oneshot::channel();
    let work = async move || {
        // The lease runs from a moment after this one.
        let begun = Instant::now();
        let Engine { cell, writes, reads } = match open().await {
            Ok(engine) => engine,
            Err(error) => return tell(opened, Err(error)),
        };
        tell(opened, Ok((cell, reads)));
        StoreWriter::new(writes, commits, channels, begun).run().await;
    };
    std::thread::Builder::new().name("ludex-store".to_owned()).spawn(move || runtime.block_on(work())).map_err(io)?;
    result.await.unwrap_or(Err(StoreError::Closed))
}

pub(super) struct StoreWriter {
    writes: Box<dyn WriteConnection>,
    queue: mpsc::Receiver<PendingWrites>,
    commits: Commits,
    behind: Arc<AtomicUsize>,
    lost: watch::Sender<Option<StoreError>>,
    lease: LeaseTime,
    progress: WriterProgress,
    /// First lost log row of each running match that lost one. Its log accepts no later row before it.
    broken: HashMap<String, u64>,
    /// Asynchronous groups that failed for a passing reason, in order.
    again: Vec<Vec<Write>>,
    /// Callers that wait until `again` is empty.
    settling: Vec<Ack>,
    /// Time of the next try of failed writes.
    again_at: tokio::time::Instant,
    /// Number of probes of a failed disk.
    probes: u64,
    /// First failure of an asynchronous write since the last flush.
    failed: Option<StoreError>,
}

impl StoreWriter {
    /// Creates the writer of a store whose opening began at `begun`.
    pub fn new(writes: Box<dyn WriteConnection>, commits: Commits, channels: WriterChannels, begun: Instant) -> Self {
        let WriterChannels { queue, behind, lost, lease, progress } = channels;
        lease.renew(begun, writes.renewal());
        StoreWriter {
            writes,
            queue,
            commits,
            behind,
            lost,
            lease,
            progress,
            broken: HashMap::new(),
            again: Vec::new(),
            settling: Vec::new(),
            again_at: tokio::time::Instant::now(),
            probes: 0,
            failed: None,
        }
    }

    /// Stores the queued writes until the store is closed.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut closers = Vec::new();
        while self.gather(&mut batch).await {
            self.try_again().await;
            self.defer_behind_jobs(&mut batch);
            let outcomes = self.keep(&batch).await;
            for (job, outcomes) in batch.drain(..).zip(outcomes) {
                match job.done {
                    Completion::Durable(ack) => tell(ack, outcomes),
                    Completion::Behind => {
                        for (group, outcome) in job.groups.into_iter().zip(outcomes) {
                            if let Err(error) = outcome {
                                self.on_failure_behind(group, error);
                            }
                        }
                        self.behind.fetch_sub(1, Ordering::Relaxed);
                    }
                    Completion::Settle(ack) if self.again.is_empty() => tell(ack, Ok(())),
                    Completion::Settle(ack) => self.settling.push(ack),
                    Completion::Flush(ack) => tell(ack, self.failed.take().map_or(Ok(()), Err)),
                    Completion::Close(ack) => {
                        self.queue.close();
                        closers.push(ack);
                    }
                }
            }
        }
        self.again_at = tokio::time::Instant::now();
        self.try_again().await;
        if !self.again.is_empty() {
            tracing::error!(groups = self.again.len(), "asynchronous writes lost");
        }
        self.writes.close().await;
        for ack in closers {
            tell(ack, self.failed.take().map_or(Ok(()), Err));
        }
    }

    /// Collects the next jobs in order, or none if ownership has to be renewed. Returns false if the queue is closed.
    async fn gather(&mut self, batch: &mut Vec<PendingWrites>) -> bool {
        let renewal = self.writes.renewal().unwrap_or(NEVER);
        let pause = if self.progress.failure().is_some() || !self.again.is_empty() { AGAIN } else { NEVER };
        match tokio::time::timeout(renewal.min(pause), self.queue.recv_many(batch, BATCH)).await {
            Ok(0) => return false,
            Ok(_) => {}
            Err(_) => return true,
        }
        let deadline = tokio::time::Instant::now() + LINGER;
        while batch.len() < BATCH && batch.iter().all(|job| matches!(job.done, Completion::Behind)) {
            let room = BATCH - batch.len();
            match tokio::time::timeout_at(deadline, self.queue.recv_many(batch, room)).await {
                Ok(more) if more > 0 => {}
                _ => break,
            }
        }
        true
    }

    /// Tries the failed asynchronous writes again, in order. Without any, writes a counter to find out whether a failed
    /// disk works again.
    async fn try_again(&mut self) {
        let fails = self.progress.failure().is_some();
        if (self.again.is_empty() && !fails) || tokio::time::Instant::now() < self.again_at {
            return;
        }
        let mut groups = std::mem::take(&mut self.again);
        self.behind.fetch_sub(groups.len(), Ordering::Relaxed);
        if groups.is_empty() {
            self.probes += 1;
            let probe = vec![Write::Counter { key: PROBE.to_owned(), value: self.probes }];
            let _ = self.transaction(std::iter::once(&probe)).await;
        } else if self.transaction(groups.iter()).await.is_ok() {
            groups.drain(..).for_each(|group| self.remember(&group, true));
        }
        let mut failures = 0;
        for group in groups {
            let result = match failures < FAILURES {
                true => self.transaction(std::iter::once(&group)).await,
                false => Err(self.progress.failure().unwrap_or(StoreError::Closed)),
            };
            failures = if result.is_ok() { 0 } else { failures + 1 };
            self.remember(&group, result.is_ok());
            if let Err(error) = result {
                self.on_failure_behind(group, error);
            }
        }
        self.again_at = tokio::time::Instant::now() + AGAIN;
        if self.again.is_empty() {
            self.settling.drain(..).for_each(|ack| tell(ack, Ok(())));
        }
    }

    /// Defers the asynchronous jobs of a batch while earlier ones are to be tried again, so that their order stays.
    fn defer_behind_jobs(&mut self, batch: &mut [PendingWrites]) {
        if self.again.is_empty() {
            return;
        }
        for job in batch.iter_mut().filter(|job| matches!(job.done, Completion::Behind)) {
            for group in std::mem::take(&mut job.groups) {
                let error = self.progress.failure().unwrap_or(StoreError::Closed);
                self.remember(&group, false);
                self.on_failure_behind(group, error);
            }
        }
    }

    /// Keeps a failed asynchronous group for later if the reason may pass, or if it waits for such a group.
    fn on_failure_behind(&mut self, group: Vec<Write>, error: StoreError) {
        self.failed.get_or_insert(error.clone());
        let waits = !self.again.is_empty() && matches!(error, StoreError::Broken { .. } | StoreError::Closed);
        if (error.is_passing() || waits) && self.again.len() < QUEUE {
            if self.again.is_empty() {
                tracing::error!(%error, "asynchronous writes failed, trying again");
            }
            self.again.push(group);
            self.behind.fetch_add(1, Ordering::Relaxed);
        } else {
            tracing::error!(%error, "asynchronous write failed");
        }
    }

    /// Stores a batch and returns the result of each job's groups. If the batch fails as a whole, each group is stored
    /// separately, so that an invalid group does not affect other groups.
    async fn keep(&mut self, batch: &[PendingWrites]) -> Vec<Vec<Result<(), StoreError>>> {
        let begun = Instant::now();
        let groups = || batch.iter().flat_map(|job| &job.groups);
        let whole = self.transaction(groups()).await;
        self.commits.queue.set(self.queue.len() as f64);
        if whole.is_err() {
            self.commits.errors.increment(1);
        }
        if !batch.is_empty() {
            self.commits.seconds.record(begun.elapsed());
            self.commits.jobs.record(batch.len() as f64);
        }
        let alone = whole.is_err() && groups().count() > 1;
        let mut results = Vec::with_capacity(batch.len());
        for job in batch {
            let mut outcomes = Vec::with_capacity(job.groups.len());
            for group in &job.groups {
                let outcome = if alone { self.transaction(std::iter::once(group)).await } else { whole.clone() };
                // Must precede the next group, which may contain a later log row of the same match.
                self.remember(group, outcome.is_ok());
                outcomes.push(outcome);
            }
            results.push(outcomes);
        }
        results
    }

    /// Updates the lost log rows of matches.
    fn remember(&mut self, group: &[Write], kept: bool) {
        for write in group {
            match write {
                Write::Act { id, n, .. } if !kept => {
                    self.broken.entry(id.clone()).or_insert(*n);
                }
                Write::Act { id, .. } | Write::MatchEnd { id, .. } if kept => {
                    self.broken.remove(id);
                }
                _ => {}
            }
        }
    }

    /// Stores groups of writes together or not at all. Once ownership is lost, stores nothing.
    async fn transaction<'a>(&mut self, groups: impl Iterator<Item = &'a Vec<Write>>) -> Result<(), StoreError> {
        if let Some(error) = &*self.lost.borrow() {
            return Err(error.clone());
        }
        let mut batch = Vec::new();
        let mut mended = HashSet::new();
        for write in groups.flatten() {
            if let Write::Act { id, n, .. } = write
                && let Some(lost) = self.broken.get(id)
                && *n != *lost
                && !mended.contains(id)
            {
                return Err(StoreError::Broken { id: id.clone() });
            } else if let Write::Act { id, .. } = write {
                mended.insert(id);
            }
            statements::append(write, &mut batch);
        }
        if batch.is_empty() && self.writes.renewal().is_none() {
            return Ok(());
        }
        let begun = Instant::now();
        self.progress.start();
        let stored = self.writes.commit(&batch).await;
        self.progress.end(&stored);
        if stored.is_ok() {
            self.lease.renew(begun, self.writes.renewal());
        }
        if let Err(error) = &stored
            && error.is_final()
        {
            tracing::error!(%error, "store lost");
            self.lost.send_replace(Some(error.clone()));
        }
        stored
    }
}

/// Notifies the caller of the outcome. If the caller no longer waits, the write stays stored.
fn tell<T>(ack: Ack<T>, outcome: T) {
    let _ = ack.send(outcome);
}
