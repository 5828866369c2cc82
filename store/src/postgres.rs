//! PostgreSQL engine: a database whose owner holds a lease.

pub(crate) mod copy;
mod dialect;
mod lease;
mod link;
mod open;
mod readers;
mod values;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::types::ToSql;

use crate::engine::{Access, Boxed, Engine, Statement, WriteConnection, not_running};
use crate::{StoreCell, StoreError, StoreLocation, StoreOptions, statements};
use lease::{Fenced, Lease, RENEW};
use link::{Address, Link, Request, is_transient, pipelined, text};
use readers::PostgresReaders;
use values::Param;

/// Time for which a commit is tried again if the database cannot be reached or does not answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum time to wait for the answer to a commit.
const ANSWER: Duration = Duration::from_secs(10);

/// Delay before a commit is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// Maximum time to give up a lease. Without an answer, the lease expires.
const RELEASE: Duration = Duration::from_secs(2);

/// Insertion of many log rows at once, in place of the insertion of one.
const ACTS: &str = "INSERT INTO acts (match, n, body) \
                    SELECT (SELECT seq FROM matches WHERE id = t.id AND ended_ms IS NULL), t.n, t.body \
                    FROM unnest(?1::text[], ?2::bigint[], ?3::text[]) AS t (id, n, body)";

/// Statement before all others of a batch that releases records, in a store with several cells. The lock lasts until the
/// commit, so that a reader that has seen a release has seen all earlier ones. The key is "LUDR".
const RELEASES: &str = "SELECT pg_advisory_xact_lock(1280664658)";

/// Opens the store at `url`.
pub(crate) async fn open(url: &str, access: Access, options: &StoreOptions) -> Result<Engine, StoreError> {
    let address = address(url)?;
    let (link, lease) = open::open(&address, access, options).await?;
    let reads = Arc::new(PostgresReaders::new(address.clone()));
    let cell = lease.as_ref().map_or(StoreCell::ONLY, |lease| lease.cell);
    Ok(Engine { cell, writes: Box::new(PostgresWrites { address, link: Some(link), lease }), reads })
}

fn address(url: &str) -> Result<Address, StoreError> {
    Address::parse(url, StoreLocation::Postgres(url.to_owned()).to_string())
}

/// Connection for writes, and the lease of an owner.
struct PostgresWrites {
    address: Address,
    /// Connection; `None` after a failure.
    link: Option<Link>,
    lease: Option<Lease>,
}

/// Reason for a failed attempt to commit.
enum Failure {
    /// The database refused the batch, and stored nothing.
    Refused(StoreError),
    /// The connection failed. The batch may be stored.
    Unknown(String),
}

impl PostgresWrites {
    /// Commits a batch. After a failed connection the same batch is tried again. Its number shows whether an earlier
    /// attempt has stored it.
    async fn store(&mut self, batch: &[Statement<'_>]) -> Result<(), StoreError> {
        let until = Instant::now() + PATIENCE;
        let mut reported = false;
        loop {
            let message = match tokio::time::timeout(ANSWER, self.attempt(batch)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(Failure::Refused(error))) => return Err(error),
                Ok(Err(Failure::Unknown(message))) => message,
                Err(_) => format!("no answer within {} s", ANSWER.as_secs()),
            };
            self.link = None;
            if Instant::now() >= until {
                return Err(StoreError::Unreachable { place: self.address.place.clone(), message });
            }
            if !std::mem::replace(&mut reported, true) {
                tracing::warn!(error = message, "commit failed; it is tried again");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn attempt(&mut self, batch: &[Statement<'_>]) -> Result<(), Failure> {
        let address = &self.address;
        let failed = |e: tokio_postgres::Error| match is_transient(&e) {
            true => Failure::Unknown(text(&e)),
            false => Failure::Refused(address.error(e)),
        };
        let link = match self.link.take() {
            Some(link) => link,
            None => address.connect().await.map_err(failed)?,
        };
        let link = self.link.insert(link);
        let parts = parts(batch);
        let mut prepared = Vec::with_capacity(parts.len());
        for part in &parts {
            prepared.push(link.prepare(part.sql).await.map_err(failed)?);
        }
        let renew = link.prepare(RENEW).await.map_err(failed)?;
        let client = &link.client;
        let renewal = self.lease.as_ref().map(Lease::values);
        let mut requests: Vec<Request<'_, u64>> = Vec::with_capacity(parts.len() + 3);
        requests.push(Box::pin(async { client.batch_execute("BEGIN").await.map(|()| 1) }));
        if let Some((cell, epoch, number, seconds)) = &renewal {
            let values: [&(dyn ToSql + Sync); 4] = [cell, epoch, number, seconds];
            let renew = &renew;
            requests.push(Box::pin(async move { client.execute(renew, &values).await }));
        }
        if self.lease.as_ref().is_some_and(|lease| lease.cell.count() > 1) && batch.iter().any(statements::releases) {
            requests.push(Box::pin(async { client.batch_execute(RELEASES).await.map(|()| 1) }));
        }
        for (part, statement) in parts.iter().zip(&prepared) {
            requests.push(Box::pin(client.execute_raw(statement, part.params.iter())));
        }
        let replies = pipelined(requests).await;
        let rolled_back = async || client.batch_execute("ROLLBACK").await.map_err(failed);
        // Comes first, since the statements of a batch that is stored already fail too.
        if let Some(lease) = &mut self.lease
            && matches!(replies.get(1), Some(Ok(0)))
        {
            rolled_back().await?;
            return match lease.inspect(client).await.map_err(failed)? {
                Fenced::Stored => {
                    lease.advance();
                    Ok(())
                }
                Fenced::Lost => Err(Failure::Refused(StoreError::Lost { place: address.place.clone() })),
            };
        }
        let first = replies.len() - parts.len();
        let mut changed = Vec::with_capacity(replies.len());
        for reply in replies {
            match reply.map_err(failed) {
                Ok(rows) => changed.push(rows),
                Err(Failure::Refused(error)) => {
                    rolled_back().await?;
                    return Err(Failure::Refused(error));
                }
                Err(failure) => return Err(failure),
            }
        }
        let missing = parts.iter().zip(&changed[first..]).find_map(|(part, rows)| part.running.filter(|_| *rows == 0));
        if let Some(id) = missing {
            rolled_back().await?;
            return Err(Failure::Refused(not_running(id)));
        }
        client.batch_execute("COMMIT").await.map_err(failed)?;
        if let Some(lease) = &mut self.lease {
            lease.advance();
        }
        Ok(())
    }
}

impl WriteConnection for PostgresWrites {
    fn commit<'a>(&'a mut self, batch: &'a [Statement<'a>]) -> Boxed<'a, Result<(), StoreError>> {
        Box::pin(self.store(batch))
    }

    fn renewal(&self) -> Option<Duration> {
        self.lease.as_ref().map(|lease| lease.length / 3)
    }

    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(async move {
            if let (Some(lease), Some(link)) = (&self.lease, &self.link) {
                let released = tokio::time::timeout(RELEASE, lease.release(&link.client)).await;
                if !matches!(released, Ok(Ok(()))) {
                    tracing::warn!("lease not released; another server waits until it expires");
                }
            }
        })
    }
}

/// Request of a batch: a statement, or successive insertions of log rows.
struct Part<'a> {
    sql: &'a str,
    params: Vec<Param<'a>>,
    running: Option<&'a str>,
}

/// Returns the requests of a batch. Successive insertions of log rows become one.
fn parts<'a>(batch: &'a [Statement<'a>]) -> Vec<Part<'a>> {
    let is_act = |statement: &Statement<'_>| statement.sql == statements::ACT;
    let mut parts = Vec::with_capacity(batch.len());
    for run in batch.chunk_by(|a, b| is_act(a) && is_act(b)) {
        parts.push(match run {
            [statement] => Part {
                sql: &statement.sql,
                params: statement.values.iter().map(Param::One).collect(),
                running: statement.running,
            },
            acts => Part {
                sql: ACTS,
                params: (0..3).map(|k| Param::Many(acts.iter().map(|act| &act.values[k]).collect())).collect(),
                running: None,
            },
        });
    }
    parts
}
