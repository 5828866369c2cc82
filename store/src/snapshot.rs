//! Copies of a store that a server may be using, and the preparation of copies for use by a new server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::connection::connect;
use super::open::{Access, Lock, lock, make_folder, open};

/// Delay before a copy interrupted by SQLite is resumed.
const PAUSE: Duration = Duration::from_millis(50);

/// State of the store at one moment. Until [`release`](Self::release), no process can change the store.
pub struct StoreSnapshot {
    path: PathBuf,
    /// Connection with an open read transaction.
    source: Connection,
    /// Connection with an open write transaction, which other writers wait for.
    writer: Connection,
}

impl StoreSnapshot {
    /// Takes a snapshot of the store in `folder`.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open_shared`](super::Store::open_shared).
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let opened = open(folder, Access::Beside)?;
        let (path, writer) = (opened.path, opened.writer);
        let sql = |e| StoreError::sql(&path, e);
        writer.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
        let source = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sql)?;
        // The first read fixes the state that the transaction sees.
        source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(sql)?;
        Ok(StoreSnapshot { source, writer, path })
    }

    /// Lets other processes change the store again. The snapshot does not change.
    ///
    /// # Errors
    ///
    /// An SQLite error.
    pub fn release(&self) -> Result<(), StoreError> {
        self.writer.execute_batch("ROLLBACK").map_err(|e| StoreError::sql(&self.path, e))
    }

    /// Writes the snapshot to a new file.
    ///
    /// # Errors
    ///
    /// A failed write, or an SQLite error.
    pub fn copy(&self, file: &Path) -> Result<(), StoreError> {
        let sql = |e| StoreError::sql(file, e);
        let mut copy = Connection::open(file).map_err(sql)?;
        let backup = Backup::new(&self.source, &mut copy).map_err(sql)?;
        backup.run_to_completion(i32::MAX, PAUSE, None).map_err(sql)?;
        drop(backup);
        copy.close().map_err(|(_, e)| sql(e))
    }
}

/// Creates the data directory `folder` and locks it against servers.
///
/// # Errors
///
/// [`StoreError::Locked`] while a server owns the directory, [`StoreError::Io`].
pub fn reserve(folder: &Path) -> Result<Lock, StoreError> {
    make_folder(folder)?;
    lock(folder)
}

/// Checks a copied store and makes it independent of the original: the next rated seeds derive from a new secret, which
/// the server draws. Seeds of existing runs and seasons do not change, since their matches are already planned.
///
/// # Errors
///
/// The errors of [`Store::open`](super::Store::open).
pub fn make_independent(folder: &Path) -> Result<(), StoreError> {
    let opened = open(folder, Access::Owner)?;
    let sql = |e| StoreError::sql(&opened.path, e);
    opened.writer.execute("DELETE FROM meta WHERE key = 'secret:rated'", []).map_err(sql)?;
    opened.writer.close().map_err(|(_, e)| sql(e))
}
