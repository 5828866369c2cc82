//! Database in memory, whose commits a test delays, refuses and interrupts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, ffi};

use crate::engine::{Boxed, Engine, Query, ReadPool, Statement, WriteConnection};
use crate::value::Row;
use crate::{Commits, Store, StoreCell, StoreError, StoreLocation, sqlite};

/// Name of the database in errors.
const PLACE: &str = ":memory:";

/// Outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFate {
    /// The batch is stored and acknowledged after this time.
    Stored(Duration),
    /// The commit fails: nothing is stored.
    Failed(DiskFault),
    /// The process crashes before the batch is stored.
    CrashBefore,
    /// The process crashes after the batch is stored, before the acknowledgment.
    CrashAfter,
}

/// Fault of the disk, as SQLite reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// No space is left.
    Full,
    /// The file system is read-only, as after an error of the disk.
    ReadOnly,
    /// Data did not reach the disk (`fsync`).
    Sync,
}

impl DiskFault {
    /// Every fault, for tests that loop over them.
    pub const ALL: [DiskFault; 3] = [DiskFault::Full, DiskFault::ReadOnly, DiskFault::Sync];

    fn error(self) -> StoreError {
        let code = match self {
            DiskFault::Full => ffi::SQLITE_FULL,
            DiskFault::ReadOnly => ffi::SQLITE_READONLY,
            DiskFault::Sync => ffi::SQLITE_IOERR_FSYNC,
        };
        sqlite::sqlite_error(Path::new(PLACE), rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }
}

/// Database that survives the crashes of its owners. Clones share the data.
#[derive(Clone)]
pub struct MemoryDatabase {
    connection: Arc<Mutex<Connection>>,
    /// Number of owners so far.
    owners: Arc<AtomicU64>,
}

impl MemoryDatabase {
    /// Creates an empty database.
    ///
    /// # Panics
    ///
    /// If SQLite fails.
    pub fn new() -> Self {
        let connection = sqlite::new_database(Path::new(PLACE)).expect("a database in memory");
        MemoryDatabase { connection: Arc::new(Mutex::new(connection)), owners: Arc::default() }
    }

    /// Returns the size of the data in bytes.
    ///
    /// # Panics
    ///
    /// If SQLite fails.
    pub fn size_bytes(&self) -> u64 {
        let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        let size: i64 = self.connection.lock().query_row(sql, [], |row| row.get(0)).expect("a database in memory");
        size.unsigned_abs()
    }

    /// Opens the store as its owner in the current runtime, without threads. Earlier owners store nothing more. `fate`
    /// decides on each commit by its number of statements; `crash` is called instead of the acknowledgment of a commit that crashes.
    ///
    /// # Errors
    ///
    /// An SQLite error.
    pub async fn open(
        &self,
        fate: impl FnMut(usize) -> CommitFate + Send + 'static,
        crash: impl Fn() + Send + 'static,
    ) -> Result<Store, StoreError> {
        let epoch = self.owners.fetch_add(1, Ordering::Relaxed) + 1;
        let writes = MemoryWrites { database: self.clone(), epoch, fate: Box::new(fate), crash: Box::new(crash) };
        let engine = Engine { cell: StoreCell::ONLY, writes: Box::new(writes), reads: Arc::new(self.clone()) };
        let location = StoreLocation::Sqlite(PathBuf::from(PLACE));
        Store::start_here(location, Commits::default(), engine).into_owner().await
    }
}

impl Default for MemoryDatabase {
    fn default() -> Self {
        MemoryDatabase::new()
    }
}

struct MemoryWrites {
    database: MemoryDatabase,
    epoch: u64,
    fate: Box<dyn FnMut(usize) -> CommitFate + Send>,
    crash: Box<dyn Fn() + Send>,
}

impl MemoryWrites {
    fn store(&self, batch: &[Statement<'_>]) -> Result<(), StoreError> {
        match self.database.owners.load(Ordering::Relaxed) == self.epoch {
            true => sqlite::transaction(&self.database.connection.lock(), Path::new(PLACE), batch),
            false => Err(StoreError::Lost { place: PLACE.to_owned() }),
        }
    }
}

impl WriteConnection for MemoryWrites {
    fn commit<'a>(&'a mut self, batch: &'a [Statement<'a>]) -> Boxed<'a, Result<(), StoreError>> {
        let fate = if batch.is_empty() { CommitFate::Stored(Duration::ZERO) } else { (self.fate)(batch.len()) };
        // Fails before the waiting, which would need the exclusive borrow of the functions.
        let stored = match fate {
            CommitFate::Stored(_) | CommitFate::CrashAfter => self.store(batch),
            CommitFate::Failed(fault) => Err(fault.error()),
            CommitFate::CrashBefore => Ok(()),
        };
        let is_crash = matches!(fate, CommitFate::CrashBefore | CommitFate::CrashAfter);
        if is_crash && stored.is_ok() {
            (self.crash)();
        }
        Box::pin(async move {
            if let CommitFate::Stored(time) = fate {
                tokio::time::sleep(time).await;
            }
            if is_crash && stored.is_ok() {
                std::future::pending::<()>().await;
            }
            stored
        })
    }

    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl ReadPool for MemoryDatabase {
    fn read(&self, queries: Vec<Query>) -> Boxed<'_, Result<Vec<Vec<Row>>, StoreError>> {
        let connection = self.connection.lock();
        let rows = queries.iter().map(|query| sqlite::rows(&connection, query)).collect::<Result<_, _>>();
        Box::pin(std::future::ready(rows.map_err(|e| sqlite::sqlite_error(Path::new(PLACE), e))))
    }

    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
