//! Connection pool for reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::link::{Address, Link, Request, is_transient, pipelined};
use super::values;
use crate::StoreError;
use crate::engine::{Boxed, Query, ReadPool};
use crate::value::Row;

/// Maximum number of concurrent reads.
const READERS: u32 = 4;

/// Maximum duration of a read.
const ANSWER: Duration = Duration::from_secs(30);

/// Time for which a read is tried again if the database cannot be reached.
const PATIENCE: Duration = Duration::from_secs(20);

/// Delay before a read is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// Beginning and end of a transaction whose queries see one snapshot.
const SNAPSHOT: [&str; 2] = ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "COMMIT"];

/// Pool of connections, opened on first use.
pub(super) struct PostgresReaders {
    address: Address,
    idle: Mutex<Vec<Link>>,
    room: Arc<Semaphore>,
}

impl PostgresReaders {
    pub(super) fn new(address: Address) -> Self {
        PostgresReaders { address, idle: Mutex::default(), room: Arc::new(Semaphore::new(READERS as usize)) }
    }

    /// Reads with an idle connection or a new one, again and again while the database restarts.
    async fn read_now(&self, queries: &[Query]) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.read_once(queries).await {
                Err(error) if is_transient(&error) && Instant::now() < until => self.idle.lock().clear(),
                answer => return answer,
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Reads with a connection, and returns the connection to the pool unless it fails.
    async fn read_once(&self, queries: &[Query]) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
        let idle = self.idle.lock().pop();
        let mut link = match idle {
            Some(link) => link,
            None => self.address.connect().await?,
        };
        let answer = snapshot(&mut link, queries).await?;
        self.idle.lock().push(link);
        Ok(answer)
    }
}

impl ReadPool for PostgresReaders {
    fn read(&self, queries: Vec<Query>) -> Boxed<'_, Result<Vec<Vec<Row>>, StoreError>> {
        Box::pin(async move {
            let room = self.room.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let answer = tokio::time::timeout(ANSWER, self.read_now(&queries)).await;
            drop(room);
            match answer {
                Ok(answer) => answer.map_err(|e| self.address.error(e)),
                Err(_) => Err(StoreError::Unreachable {
                    place: self.address.place.clone(),
                    message: format!("no answer within {} s", ANSWER.as_secs()),
                }),
            }
        })
    }

    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(async {
            let all = self.room.acquire_many(READERS).await;
            self.room.close();
            drop(all);
            self.idle.lock().clear();
        })
    }
}

/// Returns the rows of each query. A single query needs no transaction.
async fn snapshot(link: &mut Link, queries: &[Query]) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
    let mut statements = Vec::with_capacity(queries.len());
    for query in queries {
        statements.push(link.prepare(&query.text).await?);
    }
    let client = &link.client;
    let mut requests: Vec<Request<'_, Vec<Row>>> = Vec::with_capacity(queries.len() + 2);
    let control = |sql: &'static str| -> Request<'_, Vec<Row>> {
        Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
    };
    let several = queries.len() > 1;
    if several {
        requests.push(control(SNAPSHOT[0]));
    }
    for (query, statement) in queries.iter().zip(&statements) {
        requests.push(Box::pin(async move {
            let values: Vec<_> = query.values.iter().map(|v| v as &(dyn tokio_postgres::types::ToSql + Sync)).collect();
            client.query(statement, &values).await?.iter().map(values::row).collect()
        }));
    }
    if several {
        requests.push(control(SNAPSHOT[1]));
    }
    let mut answers: Vec<_> = pipelined(requests).await.into_iter().collect::<Result<_, _>>()?;
    if several {
        answers.pop();
        answers.remove(0);
    }
    Ok(answers)
}
