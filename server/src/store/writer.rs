//! The one writer: everything that is queued, in order, in one transaction, then all acknowledgements.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::{Failed, apply};
use super::open::{Lock, OpenStore};
use super::{StoreError, Write};
use crate::metrics::Commits;

/// Jobs that may wait; when there are more, callers wait.
pub(super) const QUEUE: usize = 8_192;

/// Jobs in one transaction.
const BATCH: usize = 1_024;

/// How long jobs that nobody waits for are gathered, so that they do not cost a commit each.
const LINGER: Duration = Duration::from_millis(50);

type Ack = oneshot::Sender<Result<(), StoreError>>;

/// Some writes that belong together, and who wants to know.
pub(super) struct Job {
    pub writes: Vec<Write>,
    pub done: Completion,
}

pub(super) enum Completion {
    /// Tell when it is on the disk.
    Durable(Ack),
    /// Tell nobody.
    Behind,
    /// Tell when all before is on the disk, and what was lost of the writes behind.
    Flush(Ack),
    /// The same, and stop.
    Close(Ack),
}

/// Starts the writer on a thread of its own, so that no worker's runtime has to live as long as it does.
pub(super) fn spawn(opened: OpenStore, queue: mpsc::Receiver<Job>, commits: Commits) -> Result<(), StoreError> {
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
    queue: mpsc::Receiver<Job>,
    commits: Commits,
    lock: Option<Lock>,
    /// Running matches of which an act was lost: their logs end there.
    broken: HashSet<String>,
    /// The first failure of a write behind that no flush has told yet.
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
                            tracing::error!(%error, "a write behind was lost");
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
            tracing::warn!(%error, "the store did not close cleanly");
        }
        drop(self.lock);
        for ack in closers {
            tell(ack, self.lost.take().map_or(Ok(()), Err));
        }
    }

    /// The next jobs, in order; `false` when there will be none.
    async fn gather(&mut self, batch: &mut Vec<Job>) -> bool {
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

    /// Keeps a batch and says for each job how it went. When the whole cannot be kept, each job is tried alone, so
    /// that a wrong one harms no other.
    fn keep(&mut self, batch: &[Job]) -> Vec<Result<(), StoreError>> {
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
                    // Before the next one is tried: a later act of the same match must not be kept.
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

    /// Knows the matches whose logs are cut.
    fn remember(&mut self, job: &Job, kept: bool) {
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

    fn transaction(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        if jobs.iter().all(|job| job.writes.is_empty()) {
            return Ok(());
        }
        // On a full disk SQLite rolls back by itself, so this does not rely on how it stands.
        self.run_sql("BEGIN IMMEDIATE")?;
        let mut result = self.apply(jobs);
        if result.is_ok() {
            result = self.run_sql("COMMIT");
        }
        if result.is_err() {
            // Refused when SQLite has rolled back already, which is as good.
            let _ = self.run_sql("ROLLBACK");
        }
        result
    }

    fn run_sql(&self, text: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(text).and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    fn apply(&self, jobs: &[Job]) -> Result<(), StoreError> {
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

/// The caller may have gone; the write stays.
fn tell(ack: Ack, outcome: Result<(), StoreError>) {
    let _ = ack.send(outcome);
}
