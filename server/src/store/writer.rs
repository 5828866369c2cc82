//! Writer thread. It stores all queued writes in order, in one transaction, and then acknowledges them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::{Failed, apply};
use super::open::{Lock, OpenStore};
use super::{StoreError, Write};
use crate::metrics::Commits;

/// Maximum number of queued jobs; callers wait while the queue is full.
pub(super) const QUEUE: usize = 8_192;

/// Maximum number of jobs per transaction.
const BATCH: usize = 1_024;

/// Time for which writes without a waiting caller are collected, so that they share one commit.
const LINGER: Duration = Duration::from_millis(50);

type Ack = oneshot::Sender<Result<(), StoreError>>;

/// Writes that are stored together, and the caller to notify.
pub(super) struct PendingWrites {
    pub writes: Vec<Write>,
    pub done: Completion,
}

pub(super) enum Completion {
    /// Notify the caller when the writes are durable.
    Durable(Ack),
    /// Notify no caller of the result.
    Behind,
    /// Notify the caller when all earlier writes are durable, and report the first failure of an asynchronous write.
    Flush(Ack),
    /// Flush, then stop the writer.
    Close(Ack),
}

/// Starts the writer on its own thread, so that it does not depend on the runtime of a worker.
pub(super) fn spawn(
    opened: OpenStore,
    queue: mpsc::Receiver<PendingWrites>,
    commits: Commits,
) -> Result<(), StoreError> {
    let path = opened.path.clone();
    let io = |e| StoreError::io(&path, e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(io)?;
    let writer = Writer {
        connection: opened.writer,
        path: opened.path,
        queue,
        commits,
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
            for (job, outcome) in batch.drain(..).zip(outcomes) {
                match job.done {
                    Completion::Durable(ack) => tell(ack, outcome),
                    Completion::Behind => {
                        if let Err(error) = outcome {
                            tracing::error!(%error, "asynchronous write failed");
                            self.lost.get_or_insert(error);
                        }
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

    /// Stores a batch and returns the result of each job. If the batch fails as a whole, each job is stored separately,
    /// so that an invalid job does not affect the others.
    fn keep(&mut self, batch: &[PendingWrites]) -> Vec<Result<(), StoreError>> {
        let begun = Instant::now();
        let whole = self.transaction(batch);
        self.commits.seconds.record(begun.elapsed());
        self.commits.jobs.record(batch.len() as f64);
        let mut outcomes = Vec::with_capacity(batch.len());
        match whole {
            Ok(()) => outcomes.resize(batch.len(), Ok(())),
            Err(error) if batch.len() == 1 => outcomes.push(Err(error)),
            Err(_) => {
                for job in batch {
                    let outcome = self.transaction(std::slice::from_ref(job));
                    // Before the next job is tried, since a later row of the same match must not be stored.
                    self.remember(job, outcome.is_ok());
                    outcomes.push(outcome);
                }
            }
        }
        for (job, outcome) in batch.iter().zip(&outcomes) {
            self.remember(job, outcome.is_ok());
        }
        outcomes
    }

    /// Updates the set of matches with lost log rows.
    fn remember(&mut self, job: &PendingWrites, kept: bool) {
        for write in &job.writes {
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

    fn transaction(&mut self, jobs: &[PendingWrites]) -> Result<(), StoreError> {
        if jobs.iter().all(|job| job.writes.is_empty()) {
            return Ok(());
        }
        // On a full disk SQLite rolls back by itself, so this does not depend on the transaction state.
        self.run_sql("BEGIN IMMEDIATE")?;
        let mut result = self.apply(jobs);
        if result.is_ok() {
            result = self.run_sql("COMMIT");
        }
        if result.is_err() {
            // Fails if SQLite has already rolled back, which is equivalent.
            let _ = self.run_sql("ROLLBACK");
        }
        result
    }

    fn run_sql(&self, text: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    fn apply(&self, jobs: &[PendingWrites]) -> Result<(), StoreError> {
        for write in jobs.iter().flat_map(|job| &job.writes) {
            if let Write::Act { id, .. } = write
                && self.broken.contains(id)
            {
                return Err(StoreError::Broken { id: id.clone() });
            }
            apply(&self.connection, write).map_err(|e| failed(&self.path, e))?;
        }
        Ok(())
    }
}

fn failed(path: &Path, failed: Failed) -> StoreError {
    match failed {
        Failed::Sql(e) => StoreError::sql(path, e),
        Failed::Store(e) => e,
    }
}

/// Notifies the caller of the outcome. If the caller no longer waits, the write stays stored.
fn tell(ack: Ack, outcome: Result<(), StoreError>) {
    let _ = ack.send(outcome);
}
