//! Errors of the store, with remedies for operators.

use std::path::Path;
use std::sync::Arc;

/// Reason for a failed operation of the store.
///
/// The error is cloneable, since one failed transaction is reported to every waiting caller.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`place` is the file, the directory or the database, and `why` the cause")]
pub enum StoreError {
    /// Text without a known form of a location.
    #[error("expected the location of a store, got {got:?}; allowed: sqlite:PATH, postgres://USER@HOST/DATABASE")]
    Location {
        /// Text without the password.
        got: String,
    },
    /// A location that this build does not support.
    #[error("{place}: this program is built without PostgreSQL; build it with --features postgres")]
    Unsupported { place: String },
    /// Another server owns the store.
    #[error("{place} is in use by another ludex server{}; stop it, or choose another store with --data or --store", .owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default())]
    Locked {
        place: String,
        /// Process or node that owns the store, if readable.
        owner: Option<String>,
    },
    /// The directory or the database contains no store.
    #[error("expected a ludex store in {place}; check --data and --store, or start a server there first")]
    Missing { place: String },
    /// The file is not a database, or belongs to another program.
    #[error("{place} is not a ludex store; move it away or choose another place with --data or --store")]
    Foreign { place: String },
    /// A different version of ludex wrote the store.
    #[error(
        "{place}: expected store version {known}, got {found}; use the ludex version that wrote the store, or choose another store with --data or --store"
    )]
    Version {
        place: String,
        /// Version of the store.
        found: u32,
        /// Version of this program.
        known: u32,
    },
    /// The file is damaged.
    #[error("{place} is damaged ({message}); restore it from a backup, or move it away to start afresh")]
    Corrupt {
        place: String,
        /// Error text of the database.
        message: String,
    },
    /// The file is empty, so its content is lost.
    #[error(
        "{place} is empty (0 bytes); restore it from a backup, or remove it to start afresh, without tokens and records"
    )]
    Empty { place: String },
    /// The store already has data, and a restore would mix them with others.
    #[error("expected an empty database, got {place}, which has a store")]
    NotEmpty { place: String },
    /// The disk is full; no part of the failed write was stored.
    #[error("no disk space left for {place}; free some space")]
    Full { place: String },
    /// The disk is read-only or fails; no part of the failed write was stored.
    #[error("{place}: the disk fails ({message}); mend or replace it")]
    Disk {
        place: String,
        /// Error text of the database.
        message: String,
    },
    /// A commit takes unusually long. It may still be stored.
    #[error("{place}: a commit has been taking {seconds} s; check the disk")]
    Stalled { place: String, seconds: u64 },
    /// The database acknowledges commits that a failure may undo.
    #[error("{place}: {message}")]
    NotDurable {
        place: String,
        /// Setting, and the remedy.
        message: String,
    },
    /// The database did not answer for a long time. Whether the last writes are stored is unknown; the next owner of the
    /// store finds out.
    #[error("{place} cannot be reached: {message}")]
    Unreachable {
        place: String,
        /// Text of the last error.
        message: String,
    },
    /// Another server has taken over the store, so this one must not write any more.
    #[error("{place} was taken over by another ludex server")]
    Lost { place: String },
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
    #[error("{place}: {why}")]
    Io {
        place: String,
        /// Error of the operating system.
        why: Arc<std::io::Error>,
    },
    /// Any other error of the database.
    #[error("{place}: {why}")]
    Sql { place: String, why: Arc<dyn std::error::Error + Send + Sync> },
}

impl StoreError {
    /// Converts a file system error at `path`; a full disk is [`StoreError::Full`].
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        let place = path.display().to_string();
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full { place },
            _ => Self::Io { place, why: Arc::new(source) },
        }
    }

    /// Returns true if the same write may succeed later, once the disk has room or works again.
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Full { .. } | StoreError::Disk { .. })
    }

    /// Returns true if the handle that got this error must not write any more.
    pub fn is_final(&self) -> bool {
        matches!(self, StoreError::Lost { .. } | StoreError::Unreachable { .. })
    }
}
