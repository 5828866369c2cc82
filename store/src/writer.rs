//! Writer thread, which stores queued writes in order, many per transaction, and acknowledges them after the commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::{Failed, apply};
use super::open::{Lock, OpenStore};
use super::{Commits, StoreError, Write};

/// Maximum number of queued jobs; callers wait while the queue is full.
pub(super) const QUEUE: usize = 8_192;

/// Maximum number of jobs per transaction.
const BATCH: usize = 1_024;

/// Time for which writes without a waiting caller are collected, so that they share one commit.
const LINGER: Duration = Duration::from_millis(50);

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

/// Starts the writer on its own thread, so that the writer does not depend on a caller's runtime.
pub(super) fn spawn(
    opened: OpenStore,
    queue: mpsc::Receiver<PendingWrites>,
    commits: Commits,
    behind: Arc<AtomicUsize>,
) -> Result<(), StoreError> {
    let path = opened.path.clone();
    let io = |e| StoreError::io(&path, e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(io)?;
    let writer = Writer {
        connection: opened.writer,
        path: opened.path,
        queue,
        commits,
        behind,
        lock: opened.lock,
        broken: HashSet::new(),
        lost: None,
    };
    std::thread::Builder::new()
        .name("ludex-store".to_owned())
        .spawn(move || runtime.block_on(writer.run()))
        .map_err(io)?;
    Ok(())
}

struct Writer {
    connection: Connection,
    path: PathBuf,
    queue: mpsc::Receiver<PendingWrites>,
    commits: Commits,
    /// Number of queued asynchronous jobs.
    behind: Arc<AtomicUsize>,
    lock: Option<Lock>,
    /// Running matches with a lost log row. Their logs accept no later rows.
    broken: HashSet<String>,
    /// First failure of an asynchronous write since the last flush.
    lost: Option<StoreError>,
}

impl Writer {
    async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut closers = Vec::new();
        while self.gather(&mut batch).await {
            let outcomes = self.keep(&batch);
            for (job, outcomes) in batch.drain(..).zip(outcomes) {
                match job.done {
                    Completion::Durable(ack) => tell(ack, outcomes),
                    Completion::Behind => {
                        for error in outcomes.into_iter().filter_map(Result::err) {
                            tracing::error!(%error, "asynchronous write failed");
                            self.lost.get_or_insert(error);
                        }
                        self.behind.fetch_sub(1, Ordering::Relaxed);
                    }
                    Completion::Flush(ack) => tell(ack, self.lost.take().map_or(Ok(()), Err)),
                    Completion::Close(ack) => {
                        self.queue.close();
                        closers.push(ack);
                    }
                }
            }
        }
        if let Err(error) = self.connection.close() {
            let (_, error) = error;
            tracing::warn!(%error, "store close failed");
        }
        drop(self.lock);
        for ack in closers {
            tell(ack, self.lost.take().map_or(Ok(()), Err));
        }
    }

    /// Collects the next jobs in order. Returns false if the queue is closed.
    async fn gather(&mut self, batch: &mut Vec<PendingWrites>) -> bool {
        if self.queue.recv_many(batch, BATCH).await == 0 {
            return false;
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
    fn keep(&mut self, batch: &[PendingWrites]) -> Vec<Vec<Result<(), StoreError>>> {
        let begun = Instant::now();
        let groups = || batch.iter().flat_map(|job| &job.groups);
        let whole = self.transaction(groups());
        self.commits.seconds.record(begun.elapsed());
        self.commits.jobs.record(batch.len() as f64);
        let alone = whole.is_err() && groups().count() > 1;
        let mut keep_group = |group: &Vec<Write>| {
            let outcome = if alone { self.transaction(std::iter::once(group)) } else { whole.clone() };
            // Must precede the next group, which may contain a later log row of the same match.
            self.remember(group, outcome.is_ok());
            outcome
        };
        batch.iter().map(|job| job.groups.iter().map(&mut keep_group).collect()).collect()
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

    fn transaction<'a>(&mut self, groups: impl Iterator<Item = &'a Vec<Write>>) -> Result<(), StoreError> {
        let mut writes = groups.flatten().peekable();
        if writes.peek().is_none() {
            return Ok(());
        }
        self.run_sql("BEGIN IMMEDIATE")?;
        let mut result = writes.try_for_each(|write| self.apply(write));
        if result.is_ok() {
            result = self.run_sql("COMMIT");
        }
        if result.is_err() {
            // Fails if SQLite has already rolled back, as on a full disk; that error has no consequence.
            let _ = self.run_sql("ROLLBACK");
        }
        result
    }

    fn run_sql(&self, text: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    fn apply(&self, write: &Write) -> Result<(), StoreError> {
        if let Write::Act { id, .. } = write
            && self.broken.contains(id)
        {
            return Err(StoreError::Broken { id: id.clone() });
        }
        apply(&self.connection, write).map_err(|e| failed(&self.path, e))
    }
}

fn failed(path: &Path, failed: Failed) -> StoreError {
    match failed {
        Failed::Sql(e) => StoreError::sql(path, e),
        Failed::Store(e) => e,
    }
}

/// Notifies the caller of the outcome. If the caller no longer waits, the write stays stored.
fn tell<T>(ack: Ack<T>, outcome: T) {
    let _ = ack.send(outcome);
}
