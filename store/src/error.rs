//! Errors of the store, with remedies for operators.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reason for a failed operation of the store.
///
/// The error is cloneable, since one failed transaction is reported to every waiting caller.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`path` is the file or the directory, and `why` the cause")]
pub enum StoreError {
    /// Another server owns the data directory.
    #[error("{path} is in use by another ludex server{}; stop it, or choose another folder with --data", .pid.map(|p| format!(" (process {p})")).unwrap_or_default())]
    Locked {
        path: PathBuf,
        /// Process id of the owner, if readable.
        pid: Option<u32>,
    },
    /// The directory contains no store.
    #[error("expected a ludex store in {path}; check --data, or start a server there first")]
    Missing { path: PathBuf },
    /// The file is not a database, or belongs to another program.
    #[error("{path} is not a ludex store; move it away or choose another folder with --data")]
    Foreign { path: PathBuf },
    /// The file was written by a different version of ludex.
    #[error(
        "{path}: expected store version {known}, got {found}; use the ludex version that wrote the store, or choose another folder with --data"
    )]
    Version {
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Version of this program.
        known: u32,
    },
    /// The file is damaged.
    #[error("{path} is damaged ({message}); restore it from a backup, or move it away to start afresh")]
    Corrupt {
        path: PathBuf,
        /// Error text of SQLite.
        message: String,
    },
    /// The file is empty, so its content is lost.
    #[error(
        "{path} is empty (0 bytes); restore it from a backup, or remove it to start afresh, without tokens and records"
    )]
    Empty { path: PathBuf },
    /// The disk is full; no part of the failed write was stored.
    #[error("no disk space left for {path}; free some space")]
    Full { path: PathBuf },
    /// A write of a row that already exists, or of a row that refers to a missing row.
    #[error("the write conflicts with stored data: {message}")]
    Conflict {
        /// Text of the violated constraint.
        message: String,
    },
    /// A log row that follows a lost row of its match. Storing the row would leave a gap in the log.
    #[error("match {id}: log row refused, since an earlier log row of the match was lost")]
    Broken {
        /// Id of the match.
        id: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A handle that does not own the store ([`Store::open_shared`](super::Store::open_shared)). The requested
    /// operation is reserved for the owner.
    #[error("expected a handle that owns the store, got a shared handle")]
    NotOwner,
    /// A stored value that this version cannot read.
    #[error("reading {what} from the store failed: {message}")]
    Unreadable {
        /// Name of the unreadable column.
        what: String,
        /// Description of the error.
        message: String,
    },
    /// Error of the file system.
    #[error("{path}: {why}")]
    Io {
        path: PathBuf,
        /// Error of the operating system.
        why: Arc<std::io::Error>,
    },
    /// Any other SQLite error.
    #[error("{path}: {why}")]
    Sql { path: PathBuf, why: Arc<rusqlite::Error> },
}

impl StoreError {
    /// Converts a file system error at `path`; a full disk is [`StoreError::Full`].
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, why: Arc::new(source) },
        }
    }

    /// Converts an SQLite error for the file at `path` according to the error's primary result code
    /// (<https://www.sqlite.org/rescode.html>).
    pub(super) fn sql(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match (source.sqlite_error_code(), &source) {
            (_, rusqlite::Error::FromSqlConversionFailure(_, _, why)) => {
                Self::Unreadable { what: "a value".to_owned(), message: why.to_string() }
            }
            (Some(ErrorCode::DiskFull), _) => Self::Full { path },
            (Some(ErrorCode::NotADatabase), _) => Self::Foreign { path },
            (Some(ErrorCode::DatabaseCorrupt), _) => Self::Corrupt { path, message: source.to_string() },
            (Some(ErrorCode::ConstraintViolation), _) => Self::Conflict { message: source.to_string() },
            _ => Self::Sql { path, why: Arc::new(source) },
        }
    }
}
