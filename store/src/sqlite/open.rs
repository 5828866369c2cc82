//! Opening of a database file: lock, checks and schema.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{connect, permissions, sqlite_error};
use crate::engine::Access;
use crate::{StoreError, VERSION};

/// Name of the lock file in the data directory.
pub const LOCK_FILE: &str = "ludex.lock";

/// Application id of the database file (`PRAGMA application_id`): "LUDX".
const APPLICATION: i64 = 0x4c55_4458;

const SCHEMA: &str = include_str!("schema.sql");

/// Maximum duration of the check of a database file. If the check takes longer, the file is used unchecked.
const CHECK: Duration = Duration::from_secs(10);

/// Maximum time to wait for the lock on the directory, longer than a command takes to create a store.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// Interval between attempts to lock the directory.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Size in pages at which the write-ahead log is merged into the database. Merging should be rare, since a merge costs
/// three times as much as a commit.
const LOG_PAGES: i64 = 4_096;

/// Opens the file at `path`. Returns the connection for writes, and the lock of an owner.
pub(super) fn open(path: &Path, access: Access) -> Result<(Connection, Option<Lock>), StoreError> {
    let folder = folder_of(path);
    let mut fresh = false;
    let lock = match access {
        Access::Owner => {
            make_folder(folder)?;
            let lock = lock(folder)?;
            fresh = make_file(path)?;
            permissions::restrict(folder);
            Some(lock)
        }
        Access::Beside if !path.try_exists().map_err(|e| StoreError::io(path, e))? => {
            return Err(StoreError::Missing { place: folder.display().to_string() });
        }
        Access::Beside => None,
    };
    if !fresh && fs::metadata(path).map_err(|e| StoreError::io(path, e))?.len() == 0 {
        return Err(StoreError::Empty { place: path.display().to_string() });
    }
    let writer = prepared(path, access).inspect_err(|_| {
        if fresh {
            // The next start would report an empty file as lost data.
            let _ = fs::remove_file(path);
        }
    })?;
    Ok((writer, lock))
}

/// Returns the directory of a database file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the data directory, readable only by its owner, since the database contains secrets.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|e| StoreError::io(folder, e))
}

/// Creates the database file, readable only by its owner even if the directory is not. SQLite gives its log files the
/// same mode. Returns true if the file is new.
fn make_file(path: &Path) -> Result<bool, StoreError> {
    let mut options = File::options();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(StoreError::io(path, e)),
    }
}

/// Lock on the data directory, released on drop. The operating system releases the lock when the process ends, even
/// after a crash.
pub struct Lock(File);

impl Drop for Lock {
    /// Releases the lock. Closing the file is not enough, since a child process that is just starting may still have
    /// the file open.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

pub(crate) fn lock(folder: &Path) -> Result<Lock, StoreError> {
    let path = folder.join(LOCK_FILE);
    let io = |e| StoreError::io(&path, e);
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
    match try_lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            // Best effort: if a locked file cannot be read, the process id is omitted.
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            let owner = pid.map(|pid: u32| format!("process {pid}"));
            return Err(StoreError::Locked { place: folder.display().to_string(), owner });
        }
        Err(TryLockError::Error(e)) => return Err(io(e)),
    }
    let mut lock = Lock(file);
    lock.0.set_len(0).map_err(io)?;
    writeln!(lock.0, "{}", std::process::id()).map_err(io)?;
    Ok(lock)
}

/// Locks a file. Waits for a command that holds the lock while it creates the store.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_POLL),
            locked => return locked,
        }
    }
}

/// Checks that the file is a store of this version, before anything is changed. The owner initializes an empty file.
/// Returns the connection for writes.
fn prepared(path: &Path, access: Access) -> Result<Connection, StoreError> {
    let sql = |e| sqlite_error(path, e);
    let writer = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(sql)?;
    let number = |text: &str| writer.query_row(text, [], |row| row.get::<_, i64>(0)).map_err(sql);
    let application = number("PRAGMA application_id")?;
    let empty = application == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0;
    if application != APPLICATION && !empty {
        return Err(StoreError::Foreign { place: path.display().to_string() });
    }
    let version = number("PRAGMA user_version")?;
    if empty && access == Access::Owner {
        create_schema(&writer).map_err(sql)?;
    } else if version != i64::from(VERSION) {
        return Err(StoreError::Version { place: path.display().to_string(), found: version as u32, known: VERSION });
    } else if access == Access::Owner {
        check(&writer, path)?;
    }
    let settings = format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA wal_autocheckpoint = {LOG_PAGES};"
    );
    writer.execute_batch(&settings).map_err(sql)?;
    Ok(writer)
}

/// Creates the tables of a store in an empty database.
pub(super) fn create_schema(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(&format!(
        "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};\n{SCHEMA}COMMIT;"
    ))
}

/// Checks the whole file for damage, since writes could make the damage worse.
fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let handle = connection.get_interrupt_handle();
    let (done, finished) = channel::<()>();
    let said = std::thread::scope(|scope| {
        scope.spawn(move || {
            if finished.recv_timeout(CHECK) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
            }
        });
        let said = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        drop(done);
        said
    });
    match said {
        Ok(text) if text == "ok" => Ok(()),
        Ok(message) => {
            Err(StoreError::Corrupt { place: path.display().to_string(), message: message.trim().replace('\n', " ") })
        }
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            tracing::warn!(path = %path.display(), limit_s = CHECK.as_secs(), "store check timed out");
            Ok(())
        }
        Err(e) => Err(sqlite_error(path, e)),
    }
}
