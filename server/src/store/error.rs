//! What can go wrong with the store, said so that an operator knows what to do next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the store could not do what was asked.
///
/// Cloneable, because one failed transaction is reported to everyone who waited for it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another server holds the folder.
    #[error("{path} is in use by another ludex server{}; stop it, or choose another folder with --data", .pid.map(|p| format!(" (process {p})")).unwrap_or_default())]
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The holder's process id, when it could be read.
        pid: Option<u32>,
    },
    /// There is no store in the folder.
    #[error("{path} holds no ludex store; check --data, or start a server there first")]
    Missing {
        /// The data folder.
        path: PathBuf,
    },
    /// The file is something else: no database, or one of another program.
    #[error("{path} is not a ludex store; move it away or choose another folder with --data")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of ludex.
    #[error("{path} has store version {found} and this program knows version {known}; {}", if .found > .known { "use the newer ludex that wrote it" } else { "start the server of this version once to bring it up to date" })]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The version of this program.
        known: u32,
    },
    /// The file is damaged.
    #[error("{path} is damaged ({message}); restore it from a backup, or move it away to start afresh")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        message: String,
    },
    /// The file holds nothing, not even a beginning: what was in it is lost.
    #[error(
        "{path} is empty (0 bytes); restore it from a backup, or remove it to start afresh, without tokens and records"
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There is no room left; nothing of the refused write was kept.
    #[error("no room left for {path}; free some disk space")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A row that exists already, or belongs to something that does not exist.
    #[error("the write contradicts the store: {message}")]
    Conflict {
        /// Which rule was broken.
        message: String,
    },
    /// An earlier act of this match could not be kept, so that later ones would leave a hole.
    #[error("match {id} is not kept any more: an earlier act could not be written")]
    Broken {
        /// The match.
        id: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// This handle stands beside a server ([`Store::beside`](super::Store::beside)), which alone may do that.
    #[error("only the server that owns the store may do that")]
    NotOwner,
    /// A stored value that this program cannot read.
    #[error("{what} in the store cannot be read: {message}")]
    Unreadable {
        /// The column.
        what: String,
        /// Why.
        message: String,
    },
    /// The file system refused.
    #[error("{path}: {why}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        why: Arc<std::io::Error>,
    },
    /// Anything else that SQLite reported.
    #[error("{path}: {why}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        why: Arc<rusqlite::Error>,
    },
}

impl StoreError {
    /// A file system error at `path`; a full disk is told apart.
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, why: Arc::new(source) },
        }
    }

    /// An error of SQLite on the file at `path`, sorted by its primary result code
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
