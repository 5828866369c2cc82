//! Interface between the store and a database.
//!
//! Both engines run the same statements, which are written for SQLite: placeholders are `?1`, `?2` and so on. The engine of
//! PostgreSQL translates what differs.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::value::{ColumnValue, Row};
use super::{StoreCell, StoreError};

/// Boxed future of an engine.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Kind of access to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Exclusive access of the server.
    Owner,
    /// Shared access of a command, with or without a running server.
    Beside,
}

/// Database that is open for writes and reads.
pub(crate) struct Engine {
    pub(crate) cell: StoreCell,
    pub(crate) writes: Box<dyn WriteConnection>,
    pub(crate) reads: Arc<dyn ReadPool>,
}

/// Statement that changes rows, with the values of its placeholders.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<ColumnValue<'a>>,
    /// Id of the match that the statement requires to be running. If the statement changes no row, the match is not.
    pub(crate) running: Option<&'a str>,
}

/// Text of a query, and the values of its placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) values: Vec<ColumnValue<'static>>,
}

/// Connection for writes, which the writer owns.
pub(crate) trait WriteConnection: Send {
    /// Executes the statements in one transaction. Its changes are on disk when the future resolves.
    ///
    /// After an error, nothing is stored. [`StoreError::Lost`] and [`StoreError::Unreachable`] are final.
    fn commit<'a>(&'a mut self, batch: &'a [Statement<'a>]) -> Boxed<'a, Result<(), StoreError>>;

    /// Returns the maximum time between two commits, if ownership lapses without them. An empty commit counts.
    fn renewal(&self) -> Option<Duration> {
        None
    }

    /// Gives up ownership and closes the connection.
    fn close(self: Box<Self>) -> Boxed<'static, ()>;
}

/// Pool of connections for reads, which never wait for the writer.
pub(crate) trait ReadPool: Send + Sync {
    /// Returns the rows of each query, all from one snapshot of the data.
    fn read(&self, queries: Vec<Query>) -> Boxed<'_, Result<Vec<Vec<Row>>, StoreError>>;

    /// Waits for the running reads to finish, and refuses new reads.
    fn close(&self) -> Boxed<'_, ()>;
}

/// Error for a statement that requires a running match and found none.
pub(crate) fn not_running(id: &str) -> StoreError {
    StoreError::Conflict { message: format!("expected a running match, got {id}") }
}
