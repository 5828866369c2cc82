//! Copies of a store that a server may be using, and the preparation of copies for use by a new server. A copy is always an
//! SQLite file, whatever the engine of the store, so that it moves data from one engine to the other.

use std::path::Path;

#[cfg(feature = "postgres")]
use crate::postgres::copy as postgres;
use crate::sqlite::snapshot::SqliteSnapshot;
use crate::sqlite::{self, sqlite_error};
use crate::{Lock, StoreError, StoreLocation};

/// State of the store at one moment. Until [`release`](Self::release), no process can change the store.
pub struct StoreSnapshot(Snapshot);

enum Snapshot {
    Sqlite(Box<SqliteSnapshot>),
    #[cfg(feature = "postgres")]
    Postgres(Box<postgres::PostgresSnapshot>),
}

impl StoreSnapshot {
    /// Takes a snapshot of a store.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open_shared`](super::Store::open_shared).
    ///
    /// # Panics
    ///
    /// For PostgreSQL in an asynchronous context.
    pub fn take(location: &StoreLocation) -> Result<Self, StoreError> {
        match location {
            StoreLocation::Sqlite(path) => Ok(StoreSnapshot(Snapshot::Sqlite(SqliteSnapshot::take(path)?.into()))),
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => {
                Ok(StoreSnapshot(Snapshot::Postgres(postgres::PostgresSnapshot::take(url)?.into())))
            }
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(_) => Err(StoreError::Unsupported { place: location.to_string() }),
        }
    }

    /// Lets other processes change the store again. The snapshot does not change.
    ///
    /// # Errors
    ///
    /// An error of the database.
    pub fn release(&mut self) -> Result<(), StoreError> {
        match &mut self.0 {
            Snapshot::Sqlite(snapshot) => snapshot.release(),
            #[cfg(feature = "postgres")]
            Snapshot::Postgres(snapshot) => snapshot.release(),
        }
    }

    /// Writes the snapshot to a new SQLite file.
    ///
    /// # Errors
    ///
    /// A failed write, or an error of the database.
    pub fn copy(&self, file: &Path) -> Result<(), StoreError> {
        match &self.0 {
            Snapshot::Sqlite(snapshot) => snapshot.copy(file),
            #[cfg(feature = "postgres")]
            Snapshot::Postgres(snapshot) => snapshot.copy(file),
        }
    }
}

/// Creates the data directory `folder` and locks it against servers.
///
/// # Errors
///
/// [`StoreError::Locked`] while a server owns the directory, [`StoreError::Io`].
pub fn reserve(folder: &Path) -> Result<Lock, StoreError> {
    sqlite::make_folder(folder)?;
    sqlite::lock(folder)
}

/// Checks a copied store and makes it independent of the original: the next rated seeds derive from a new secret, which
/// the server draws. Seeds of existing runs and seasons do not change, since their matches are already planned.
///
/// # Errors
///
/// The errors of [`Store::open`](super::Store::open).
pub fn make_independent(file: &Path) -> Result<(), StoreError> {
    let sql = |e| sqlite_error(file, e);
    let connection = sqlite::open_owned(file)?;
    connection.execute("DELETE FROM meta WHERE key = 'secret:rated'", []).map_err(sql)?;
    connection.close().map_err(|(_, e)| sql(e))
}

/// Moves a copied store to its place, which must have no store.
///
/// # Errors
///
/// [`StoreError::NotEmpty`] if the place has a store, or an error of the file system or the database. After an error, a
/// database is unchanged.
///
/// # Panics
///
/// For PostgreSQL in an asynchronous context.
pub fn install(file: &Path, location: &StoreLocation) -> Result<(), StoreError> {
    match location {
        StoreLocation::Sqlite(path) if path.exists() => Err(StoreError::NotEmpty { place: location.to_string() }),
        StoreLocation::Sqlite(path) => std::fs::rename(file, path).map_err(|e| StoreError::io(path, e)),
        #[cfg(feature = "postgres")]
        StoreLocation::Postgres(url) => postgres::import(file, url),
        #[cfg(not(feature = "postgres"))]
        StoreLocation::Postgres(_) => Err(StoreError::Unsupported { place: location.to_string() }),
    }
}
