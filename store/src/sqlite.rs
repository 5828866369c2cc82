//! SQLite engine: one file in the data directory, with a lock that excludes other owners.

mod open;
pub(crate) mod permissions;
mod readers;
pub(crate) mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

pub use open::{LOCK_FILE, Lock};
pub(crate) use open::{lock, make_folder};
use readers::Readers;
#[cfg(feature = "testing")]
pub(crate) use readers::rows;
#[cfg(feature = "postgres")]
pub(crate) use readers::value;

use crate::engine::{Access, Boxed, Engine, Statement, WriteConnection, not_running};
use crate::value::ColumnValue;
use crate::{StoreCell, StoreError};

/// Maximum time to wait for a transaction of another process.
const BUSY: Duration = Duration::from_secs(10);

/// Number of cached prepared statements per connection.
const STATEMENTS: usize = 64;

/// Opens the store in the file at `path`.
pub(crate) fn open(path: &Path, access: Access) -> Result<Engine, StoreError> {
    let (connection, lock) = open::open(path, access)?;
    Ok(engine(connection, path, lock))
}

fn engine(connection: Connection, path: &Path, lock: Option<Lock>) -> Engine {
    Engine {
        cell: StoreCell::ONLY,
        writes: Box::new(SqliteWrites { connection, path: path.to_owned(), lock }),
        reads: Arc::new(Readers::new(path.to_owned())),
    }
}

/// Opens the store in the file at `path`, which then has at most this number of pages.
#[cfg(test)]
pub(crate) fn open_limited(path: &Path, pages: u32) -> Result<Engine, StoreError> {
    let (connection, lock) = open::open(path, Access::Owner)?;
    connection.execute_batch(&format!("PRAGMA max_page_count = {pages}")).map_err(|e| sqlite_error(path, e))?;
    Ok(engine(connection, path, lock))
}

/// Opens and checks the file at `path`. The caller has locked it, or created it in a place of its own.
pub(crate) fn open_owned(path: &Path) -> Result<Connection, StoreError> {
    open::open(path, Access::Owner).map(|(connection, _)| connection)
}

/// Creates a file with the tables of a store.
pub(crate) fn new_database(path: &Path) -> Result<Connection, StoreError> {
    let sql = |e| sqlite_error(path, e);
    let database = Connection::open(path).map_err(sql)?;
    open::create_schema(&database).map_err(sql)?;
    Ok(database)
}

/// Opens a connection to an existing file.
pub(crate) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Connection for writes, and the lock of an owner.
struct SqliteWrites {
    connection: Connection,
    path: PathBuf,
    lock: Option<Lock>,
}

/// Executes the statements in one transaction.
pub(crate) fn transaction(to: &Connection, path: &Path, batch: &[Statement<'_>]) -> Result<(), StoreError> {
    // Returns the number of changed rows.
    let execute = |sql: &str, values: &[ColumnValue<'_>]| {
        let done = to.prepare_cached(sql).and_then(|mut statement| statement.execute(params_from_iter(values)));
        done.map_err(|e| sqlite_error(path, e))
    };
    execute("BEGIN IMMEDIATE", &[])?;
    let mut result = batch.iter().try_for_each(|statement| {
        let changed = execute(&statement.sql, &statement.values)?;
        match statement.running {
            Some(id) if changed == 0 => Err(not_running(id)),
            _ => Ok(()),
        }
    });
    if result.is_ok() {
        result = execute("COMMIT", &[]).map(drop);
    }
    if result.is_err() {
        // Fails if SQLite has already rolled back, as on a full disk; that error has no consequence.
        let _ = execute("ROLLBACK", &[]);
    }
    result
}

impl WriteConnection for SqliteWrites {
    fn commit<'a>(&'a mut self, batch: &'a [Statement<'a>]) -> Boxed<'a, Result<(), StoreError>> {
        let stored = match batch {
            [] => Ok(()),
            batch => transaction(&self.connection, &self.path, batch),
        };
        Box::pin(std::future::ready(stored))
    }

    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "store close failed");
        }
        drop(self.lock);
        Box::pin(std::future::ready(()))
    }
}

impl ToSql for ColumnValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            ColumnValue::Null => ValueRef::Null,
            ColumnValue::Int(n) => ValueRef::Integer(*n),
            ColumnValue::Text(text) => ValueRef::Text(text.as_bytes()),
            ColumnValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Converts an SQLite error for the file at `path` according to the error's primary result code
/// (<https://www.sqlite.org/rescode.html>).
pub(crate) fn sqlite_error(path: &Path, source: rusqlite::Error) -> StoreError {
    let place = path.display().to_string();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { place },
        Some(ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            StoreError::Disk { place, message: source.to_string() }
        }
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { place },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { place, message: source.to_string() },
        Some(ErrorCode::ConstraintViolation) => StoreError::Conflict { message: source.to_string() },
        _ => StoreError::Sql { place, why: Arc::new(source) },
    }
}
