//! How a connection to the file is opened.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// How long to wait for another process's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Statements that are kept prepared.
const STATEMENTS: usize = 64;

/// A connection to the file. It never makes one.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}
