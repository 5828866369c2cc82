//! Connection pool for reads. A read sees the data committed before it started, and never waits for the writer.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, params_from_iter, types};
use tokio::sync::Semaphore;

use super::{connect, sqlite_error};
use crate::StoreError;
use crate::engine::{Boxed, Query, ReadPool};
use crate::value::{ColumnValue, Row};

/// Maximum number of concurrent reads.
const READERS: u32 = 4;

/// Pool of connections, opened on first use.
#[derive(Clone)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    room: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Readers { path, idle: Arc::default(), room: Arc::new(Semaphore::new(READERS as usize)) }
    }

    fn read_now(&self, queries: &[Query]) -> Result<Vec<Vec<Row>>, StoreError> {
        let sql = |e| sqlite_error(&self.path, e);
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?,
        };
        let answer =
            connection.transaction().and_then(|snapshot| queries.iter().map(|query| rows(&snapshot, query)).collect());
        self.idle.lock().push(connection);
        answer.map_err(sql)
    }
}

impl ReadPool for Readers {
    /// Runs the queries on a blocking thread.
    fn read(&self, queries: Vec<Query>) -> Boxed<'_, Result<Vec<Vec<Row>>, StoreError>> {
        Box::pin(async move {
            let room = self.room.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
            let readers = self.clone();
            let task = tokio::task::spawn_blocking(move || {
                let answer = readers.read_now(&queries);
                drop(room);
                answer
            });
            match task.await {
                Ok(answer) => answer,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => Err(StoreError::Closed),
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

/// Returns the rows of a query.
pub(crate) fn rows(from: &Connection, query: &Query) -> rusqlite::Result<Vec<Row>> {
    let mut statement = from.prepare_cached(&query.text)?;
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|k| value(row, k)).collect::<Result<_, _>>().map(Row::new);
    statement.query_map(params_from_iter(&query.values), row)?.collect()
}

/// Returns the value of column `k`.
pub(crate) fn value(row: &rusqlite::Row<'_>, k: usize) -> rusqlite::Result<ColumnValue<'static>> {
    Ok(match row.get::<_, types::Value>(k)? {
        types::Value::Null => ColumnValue::Null,
        types::Value::Integer(n) => n.into(),
        types::Value::Real(x) => return Err(rusqlite::Error::IntegralValueOutOfRange(k, x as i64)),
        types::Value::Text(text) => text.into(),
        types::Value::Blob(bytes) => bytes.into(),
    })
}
