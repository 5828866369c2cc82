//! Settings of SQLite connections.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Maximum time to wait for a transaction of another process.
const BUSY: Duration = Duration::from_secs(10);

/// Number of cached prepared statements per connection.
const STATEMENTS: usize = 64;

/// Opens a connection to an existing file.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}
