//! StoreWriter thread, which stores queued writes in order, many per transaction, and acknowledges them after the commit.

use std::collections::HashSet;
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

/// Channels between the handles of a store and its writer.
pub(super) struct WriterChannels {
    pub queue: mpsc::Receiver<PendingWrites>,
    /// Number of queued asynchronous jobs.
    pub behind: Arc<AtomicUsize>,
    /// Receives the error after which the writer stores nothing more.
    pub lost: watch::Sender<Option<StoreError>>,
    pub lease: LeaseTime,
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
    /// Running matches with a lost log row. Their logs accept no later rows.
    broken: HashSet<String>,
    /// First failure of an asynchronous write since the last flush.
    failed: Option<StoreError>,
}

impl StoreWriter {
    /// Creates the writer of a store whose opening began at `begun`.
    pub fn new(writes: Box<dyn WriteConnection>, commits: Commits, channels: WriterChannels, begun: Instant) -> Self {
        let WriterChannels { queue, behind, lost, lease } = channels;
        lease.renew(begun, writes.renewal());
        StoreWriter { writes, queue, commits, behind, lost, lease, broken: HashSet::new(), failed: None }
    }

    /// Stores the queued writes until the store is closed.
    pub async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut closers = Vec::new();
        while self.gather(&mut batch).await {
            let outcomes = self.keep(&batch).await;
            for (job, outcomes) in batch.drain(..).zip(outcomes) {
                match job.done {
                    Completion::Durable(ack) => tell(ack, outcomes),
                    Completion::Behind => {
                        for error in outcomes.into_iter().filter_map(Result::err) {
                            tracing::error!(%error, "asynchronous write failed");
                            self.failed.get_or_insert(error);
                        }
                        self.behind.fetch_sub(1, Ordering::Relaxed);
                    }
                    Completion::Flush(ack) => tell(ack, self.failed.take().map_or(Ok(()), Err)),
                    Completion::Close(ack) => {
                        self.queue.close();
                        closers.push(ack);
                    }
                }
            }
        }
        self.writes.close().await;
        for ack in closers {
            tell(ack, self.failed.take().map_or(Ok(()), Err));
        }
    }

    /// Collects the next jobs in order, or none if ownership has to be renewed. Returns false if the queue is closed.
    async fn gather(&mut self, batch: &mut Vec<PendingWrites>) -> bool {
        let renewal = self.writes.renewal().unwrap_or(NEVER);
        match tokio::time::timeout(renewal, self.queue.recv_many(batch, BATCH)).await {
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

    /// Updates the set of matches with lost log rows.
    fn remember(&mut self, group: &[Write], kept: bool) {
        for write in group {
            match write {
                Write::Act { id, .. } if !kept => {
                    self.broken.insert(id.clone());
                }
                Write::MatchEnd { id, .. } if kept => {
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
        for write in groups.flatten() {
            if let Write::Act { id, .. } = write
                && self.broken.contains(id)
            {
                return Err(StoreError::Broken { id: id.clone() });
            }
            statements::append(write, &mut batch);
        }
        if batch.is_empty() && self.writes.renewal().is_none() {
            return Ok(());
        }
        let begun = Instant::now();
        let stored = self.writes.commit(&batch).await;
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
