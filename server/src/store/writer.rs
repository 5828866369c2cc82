//! The one writer: everything that is queued, in order, in one transaction, then all acknowledgements.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, QueryBuilder, Sqlite, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::open::Opened;
use super::rows::{ActRow, EndRow, MatchRow};
use super::{StoreError, Write};

/// Jobs that may wait; then whoever writes waits.
pub(super) const QUEUE: usize = 8_192;

/// Jobs in one transaction.
const BATCH: usize = 1_024;

/// Acts in one insert.
pub(super) const ROWS: usize = 64;

/// How long jobs that nobody waits for are gathered, so that they do not cost a commit each.
const LINGER: Duration = Duration::from_millis(50);

/// Gives a match the next place in the order of release. The inner condition says nothing new: it is what lets SQLite take
/// the greatest from the index of released matches, where it would read the whole table otherwise.
const RELEASE: &str = "UPDATE matches SET released = \
                       (SELECT coalesce(max(released), 0) + 1 FROM matches WHERE released IS NOT NULL) \
                       WHERE id = ? AND ended_ms IS NOT NULL AND released IS NULL";

type Ack = oneshot::Sender<Result<(), StoreError>>;

/// Some writes that belong together, and who wants to know.
pub(super) struct Job {
    pub writes: Vec<Write>,
    pub done: Done,
}

pub(super) enum Done {
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
pub(super) fn spawn(opened: Opened, queue: mpsc::Receiver<Job>) -> Result<(), StoreError> {
    let path = opened.path.clone();
    let io = |e| StoreError::io(&path, e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(io)?;
    let writer = Writer {
        connection: opened.writer,
        path: opened.path,
        queue,
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
    connection: SqliteConnection,
    path: PathBuf,
    queue: mpsc::Receiver<Job>,
    lock: Option<File>,
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
            let outcomes = self.keep(&batch).await;
            for (job, outcome) in batch.drain(..).zip(outcomes) {
                match job.done {
                    Done::Durable(ack) => tell(ack, outcome),
                    Done::Behind => {
                        if let Err(error) = outcome {
                            tracing::error!(%error, "a write behind was lost");
                            self.lost.get_or_insert(error);
                        }
                    }
                    Done::Flush(ack) => tell(ack, self.lost.take().map_or(Ok(()), Err)),
                    Done::Close(ack) => {
                        self.queue.close();
                        closers.push(ack);
                    }
                }
            }
        }
        if let Err(error) = self.connection.close().await {
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
        while batch.len() < BATCH && batch.iter().all(|job| matches!(job.done, Done::Behind)) {
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
    async fn keep(&mut self, batch: &[Job]) -> Vec<Result<(), StoreError>> {
        let begun = Instant::now();
        let whole = self.transaction(batch).await;
        metrics::histogram!("ludex_store_commit_seconds").record(begun.elapsed());
        metrics::histogram!("ludex_store_commit_jobs").record(batch.len() as f64);
        let mut outcomes = Vec::with_capacity(batch.len());
        match whole {
            Ok(()) => outcomes.resize(batch.len(), Ok(())),
            Err(error) if batch.len() == 1 => outcomes.push(Err(error)),
            Err(_) => {
                for job in batch {
                    let outcome = self.transaction(std::slice::from_ref(job)).await;
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

    async fn transaction(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        if jobs.iter().all(|job| job.writes.is_empty()) {
            return Ok(());
        }
        // Not sqlx's own transactions: on a full disk SQLite rolls back by itself, and they would lose count.
        self.run_sql("BEGIN IMMEDIATE").await?;
        let mut result = self.apply(jobs).await;
        if result.is_ok() {
            result = self.run_sql("COMMIT").await;
        }
        if result.is_err() {
            // Refused when SQLite has rolled back already, which is as good.
            let _ = self.run_sql("ROLLBACK").await;
        }
        result
    }

    async fn run_sql(&mut self, text: &'static str) -> Result<(), StoreError> {
        let done = sqlx::query(text).execute(&mut self.connection).await;
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    async fn apply(&mut self, jobs: &[Job]) -> Result<(), StoreError> {
        let mut acts = Vec::with_capacity(ROWS);
        for write in jobs.iter().flat_map(|job| &job.writes) {
            match write {
                Write::Act { id, n, body } => {
                    if self.broken.contains(id) {
                        return Err(StoreError::Broken { id: id.clone() });
                    }
                    acts.push((id.as_str(), *n, body.as_str()));
                    if acts.len() == ROWS {
                        self.insert_acts(&mut acts).await?;
                    }
                }
                other => {
                    self.insert_acts(&mut acts).await?;
                    self.apply_one(other).await?;
                }
            }
        }
        self.insert_acts(&mut acts).await
    }

    /// Inserts rows `(match, n, body)`, at most [`ROWS`], and empties the list. A match that is not running makes the
    /// row's match null, which the schema refuses.
    async fn insert_acts(&mut self, acts: &mut Vec<(&str, u64, &str)>) -> Result<(), StoreError> {
        if acts.is_empty() {
            return Ok(());
        }
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO acts (match, n, body) ");
        query.push_values(acts.drain(..), |mut row, (id, n, body)| {
            row.push("(SELECT seq FROM matches WHERE ended_ms IS NULL AND id = ")
                .push_bind_unseparated(id.to_owned())
                .push_unseparated(")")
                .push_bind(int(n))
                .push_bind(body.to_owned());
        });
        let done = query.build().execute(&mut self.connection).await;
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    async fn apply_one(&mut self, write: &Write) -> Result<(), StoreError> {
        let query = match write {
            Write::MatchStart(row) => return self.match_start(row).await,
            Write::MatchEnd { id, acts, end } => return self.match_end(id, acts, end).await,
            Write::Act { id, n, body } => return self.insert_acts(&mut vec![(id, *n, body)]).await,
            Write::Released { ids } => {
                for id in ids {
                    self.released(id).await?;
                }
                return Ok(());
            }
            Write::Forget { ids } => {
                for id in ids {
                    self.forget(id).await?;
                }
                return Ok(());
            }
            Write::Restarted { id, restarts } => {
                sqlx::query("UPDATE matches SET restarts = ? WHERE id = ?").bind(*restarts).bind(id.clone())
            }
            Write::Session(row) => sqlx::query(
                "INSERT OR REPLACE INTO sessions (id, key_hash, agent, token, body, expires_ms) VALUES (?, ?, ?, ?, ?, ?)",
            )
            .bind(row.id.clone())
            .bind(row.key_hash.clone())
            .bind(row.agent.clone())
            .bind(row.token.map(|hash| hash.0.to_vec()))
            .bind(row.body.clone())
            .bind(row.expires_ms),
            Write::SessionGone { id } => sqlx::query("DELETE FROM sessions WHERE id = ?").bind(id.clone()),
            Write::Ticket(row) => sqlx::query(
                "INSERT OR REPLACE INTO tickets (ticket, agent, run, body, \"join\") VALUES (?, ?, ?, ?, ?)",
            )
            .bind(row.ticket.clone())
            .bind(row.agent.clone())
            .bind(row.run.clone())
            .bind(row.body.clone())
            .bind(row.join.clone()),
            Write::TicketShown { ticket, join } => {
                sqlx::query("UPDATE tickets SET \"join\" = coalesce(\"join\", ?) WHERE ticket = ?")
                    .bind(join.clone())
                    .bind(ticket.clone())
            }
            Write::TicketsGone { run } => sqlx::query("DELETE FROM tickets WHERE run = ?").bind(run.clone()),
            Write::Token(row) => sqlx::query(
                "INSERT OR REPLACE INTO tokens (hash, owner, scopes, names, created_ms, expires_ms, revoked_ms) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(row.hash.0.to_vec())
            .bind(row.owner.clone())
            .bind(row.scopes.to_string())
            .bind(list(&row.names))
            .bind(row.created_ms)
            .bind(row.expires_ms)
            .bind(row.revoked_ms),
            Write::TokenRevoked { hash, revoked_ms } => {
                sqlx::query("UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?) WHERE hash = ?")
                    .bind(*revoked_ms)
                    .bind(hash.0.to_vec())
            }
            Write::Meta { key, value } => sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
                .bind(key.clone())
                .bind(value.clone()),
            Write::MetaOnce { key, value } => sqlx::query("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)")
                .bind(key.clone())
                .bind(value.clone()),
            Write::Counter { key, value } => sqlx::query(
                "INSERT INTO counters (key, value) VALUES (?, ?) \
                 ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
            )
            .bind(key.clone())
            .bind(int(*value)),
        };
        let done = query.execute(&mut self.connection).await;
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    async fn match_start(&mut self, row: &MatchRow) -> Result<(), StoreError> {
        let sql = |e| StoreError::sql(&self.path, e);
        let seq: i64 = sqlx::query_scalar(
            "INSERT INTO matches (id, game, string, rated, run, agents, header, secret, started_ms) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        )
        .bind(row.id.clone())
        .bind(row.game.clone())
        .bind(row.string.clone())
        .bind(row.rated)
        .bind(row.run.clone())
        .bind(list(&row.agents))
        .bind(row.header.clone())
        .bind(row.secret.clone())
        .bind(row.started_ms)
        .fetch_one(&mut self.connection)
        .await
        .map_err(sql)?;
        for agent in &row.agents {
            // One row however many seats an agent has.
            sqlx::query("INSERT OR IGNORE INTO seats (agent, match) VALUES (?, ?)")
                .bind(agent.clone())
                .bind(seq)
                .execute(&mut self.connection)
                .await
                .map_err(sql)?;
        }
        Ok(())
    }

    async fn match_end(&mut self, id: &str, acts: &[ActRow], end: &EndRow) -> Result<(), StoreError> {
        for some in acts.chunks(ROWS) {
            let mut rows = some.iter().map(|act| (id, act.n, act.body.as_str())).collect();
            self.insert_acts(&mut rows).await?;
        }
        let sql = |e| StoreError::sql(&self.path, e);
        let seq: Option<i64> = sqlx::query_scalar(
            "UPDATE matches SET ended_ms = ?, reason = ? WHERE id = ? AND ended_ms IS NULL RETURNING seq",
        )
        .bind(end.ended_ms)
        .bind(end.reason.clone())
        .bind(id.to_owned())
        .fetch_optional(&mut self.connection)
        .await
        .map_err(sql)?;
        let seq = seq.ok_or_else(|| StoreError::Conflict { message: format!("there is no running match {id}") })?;
        sqlx::query("INSERT INTO records (match, footer, record) VALUES (?, ?, ?)")
            .bind(seq)
            .bind(end.footer.clone())
            .bind(end.record.clone())
            .execute(&mut self.connection)
            .await
            .map_err(sql)?;
        Ok(())
    }

    async fn released(&mut self, id: &str) -> Result<(), StoreError> {
        let done = sqlx::query(RELEASE).bind(id.to_owned()).execute(&mut self.connection).await;
        done.map(drop).map_err(|e| StoreError::sql(&self.path, e))
    }

    async fn forget(&mut self, id: &str) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM acts WHERE match = (SELECT seq FROM matches WHERE id = ? AND ended_ms IS NOT NULL)")
            .bind(id.to_owned())
            .execute(&mut self.connection)
            .await
            .map(drop)
            .map_err(|e| StoreError::sql(&self.path, e))
    }
}

/// Whoever waited may have gone; the write stands all the same.
fn tell(ack: Ack, outcome: Result<(), StoreError>) {
    let _ = ack.send(outcome);
}

/// SQLite's integers are signed; what does not fit becomes null, which the schema refuses.
fn int(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

/// Names as a JSON list.
fn list(names: &[String]) -> String {
    serde_json::Value::from(names).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    /// What SQLite means to do: each step names the index that it uses, or reads a whole table.
    #[tokio::test]
    async fn a_release_reads_no_table_through() {
        let folder = tempfile::tempdir().unwrap();
        let mut opened = open::open(folder.path(), open::Access::Owner).await.unwrap();
        let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {RELEASE}"));
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(text).bind("m_1").fetch_all(&mut opened.writer).await.unwrap();
        let reads: Vec<&String> =
            steps.iter().map(|(.., step)| step).filter(|s| s.starts_with("SEARCH") || s.starts_with("SCAN")).collect();
        assert_eq!(reads.len(), 2, "{steps:?}");
        assert!(reads.iter().all(|step| step.contains("INDEX")), "{reads:?}");
    }
}
