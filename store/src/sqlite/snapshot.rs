//! Snapshots of a store in an SQLite file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::open::open;
use super::{connect, sqlite_error};
use crate::StoreError;
use crate::engine::Access;

/// Delay before a copy interrupted by SQLite is resumed.
const PAUSE: Duration = Duration::from_millis(50);

/// State of the store at one moment. Until [`release`](Self::release), no process can change the store.
pub(crate) struct SqliteSnapshot {
    path: PathBuf,
    /// Connection with an open read transaction.
    source: Connection,
    /// Connection with an open write transaction, which other writers wait for.
    writer: Connection,
}

impl SqliteSnapshot {
    /// Takes a snapshot of the store in the file at `path`.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let (writer, _) = open(path, Access::Beside)?;
        let sql = |e| sqlite_error(path, e);
        writer.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
        let source = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?;
        // The first read fixes the state that the transaction sees.
        source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(sql)?;
        Ok(SqliteSnapshot { source, writer, path: path.to_owned() })
    }

    /// Lets other processes change the store again. The snapshot does not change.
    pub(crate) fn release(&self) -> Result<(), StoreError> {
        self.writer.execute_batch("ROLLBACK").map_err(|e| sqlite_error(&self.path, e))
    }

    /// Writes the snapshot to a new file.
    pub(crate) fn copy(&self, file: &Path) -> Result<(), StoreError> {
        let sql = |e| sqlite_error(file, e);
        let mut copy = Connection::open(file).map_err(sql)?;
        let backup = Backup::new(&self.source, &mut copy).map_err(sql)?;
        backup.run_to_completion(i32::MAX, PAUSE, None).map_err(sql)?;
        drop(backup);
        copy.close().map_err(|(_, e)| sql(e))
    }
}
