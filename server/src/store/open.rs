//! Opening the folder: the lock, the checks, the schema.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use super::StoreError;

const FILE: &str = "ludex.db";
const LOCK: &str = "ludex.lock";

/// Marks a database file as ours (`PRAGMA application_id`): "LUDX".
const APPLICATION: i64 = 0x4c55_4458;

/// The steps from an empty file to the present schema; the file's `user_version` counts those done.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("seats.sql")];

/// How long to wait for another process's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Connections for reading.
const READERS: u32 = 4;

/// Distinct statements kept prepared: the six for several rows, one for each number of rows, and all the others.
const STATEMENTS: usize = 6 * super::apply::ROWS + 64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The server: alone.
    Owner,
    /// A command, with or without a server.
    Beside,
}

pub(super) struct Opened {
    pub path: PathBuf,
    pub writer: SqliteConnection,
    pub readers: SqlitePool,
    /// Held as long as the owner lives.
    pub lock: Option<File>,
}

pub(super) async fn open(folder: &Path, access: Access) -> Result<Opened, StoreError> {
    let path = folder.join(FILE);
    let lock = match access {
        Access::Owner => {
            make_folder(folder)?;
            let lock = lock(folder)?;
            make_file(&path)?;
            Some(lock)
        }
        Access::Beside if !path.try_exists().map_err(|e| StoreError::io(&path, e))? => {
            return Err(StoreError::Missing { path: folder.to_owned() });
        }
        // Held for as long as opening takes, to bring an older file up to date; without it a server is at work.
        Access::Beside => match lock(folder) {
            Ok(lock) => Some(lock),
            Err(StoreError::Locked { .. }) => None,
            Err(other) => return Err(other),
        },
    };
    prepare(&path, lock.is_some()).await?;
    let sql = |e| StoreError::sql(&path, e);
    let writer = options(&path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .statement_cache_capacity(STATEMENTS)
        .connect()
        .await
        .map_err(sql)?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .connect_with(options(&path).read_only(true))
        .await
        .map_err(sql)?;
    let lock = lock.filter(|_| access == Access::Owner);
    Ok(Opened { path, writer, readers, lock })
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(BUSY).disable_statement_logging()
}

/// The folder, for its owner alone: the file holds secrets.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|e| StoreError::io(folder, e))
}

/// The file, likewise, in a folder that others may look into; SQLite gives its log files the same mode.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|e| StoreError::io(path, e))
}

/// The lock on the folder. The system lets go of it when the process ends, however it ends.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let io = |e| StoreError::io(&path, e);
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            // A convenience only: where a locked file cannot be read, the number is left out.
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StoreError::Locked { path: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(e)) => return Err(io(e)),
    }
    file.set_len(0).map_err(io)?;
    writeln!(file, "{}", std::process::id()).map_err(io)?;
    Ok(file)
}

/// Checks whose file it is before anything in it is changed, then brings it up to date (`may_migrate`).
async fn prepare(path: &Path, may_migrate: bool) -> Result<(), StoreError> {
    let sql = |e| StoreError::sql(path, e);
    let mut connection = options(path).connect().await.map_err(sql)?;
    let result = migrate(&mut connection, path, may_migrate).await;
    connection.close().await.map_err(sql)?;
    result
}

async fn migrate(connection: &mut SqliteConnection, path: &Path, may_migrate: bool) -> Result<(), StoreError> {
    let sql = |e| StoreError::sql(path, e);
    let application: i64 =
        sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await.map_err(sql)?;
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut *connection).await.map_err(sql)?;
    if application != APPLICATION && (application != 0 || tables != 0) {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let found: u32 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await.map_err(sql)?;
    let known = MIGRATIONS.len() as u32;
    if found == known {
        return Ok(());
    }
    if found > known || !may_migrate {
        return Err(StoreError::Version { path: path.to_owned(), found, known });
    }
    let mut script =
        format!("BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known};\n");
    script.extend(MIGRATIONS.iter().skip(found as usize).copied());
    script.push_str("COMMIT;");
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(connection).await.map_err(sql)?;
    Ok(())
}
