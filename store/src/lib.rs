//! Durable store: matches and their logs, records, sessions, runs, seasons, tokens.
//!
//! The data are in one SQLite file, `ludex.db`, in the data directory, or with the feature `postgres` in a PostgreSQL
//! database. One writer puts all queued writes into one transaction and acknowledges them after the commit has reached the
//! disk, so that many matches share the cost of one `fsync`. Reads use a small connection pool and never wait for the
//! writer.
//!
//! The store does not know the rules of games. Bodies are JSON text, which the store returns unchanged.
//!
//! ```
//! use ludex_store::{Store, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let store = Store::open(folder.path()).await?;
//!     store.write(vec![Write::Meta { key: "motd".to_owned(), value: "hello".to_owned() }]).await?;
//!     // On disk from here on.
//!     assert_eq!(store.meta("motd").await?.as_deref(), Some("hello"));
//!     store.close().await?;
//!     Ok(())
//! })
//! # }
//! ```
//!
//! Invariants:
//! - The crate imports no other crate of the project.
//! - A store has one owner and one writer. A write is acknowledged only once it is on disk.
//! - The writes of one call are stored together or not at all. The log of a match has no gaps.
//! - The store holds the hash of a token, never the token.

#![forbid(unsafe_code)]

mod cell;
mod commits;
mod contests;
mod database;
mod engine;
mod error;
mod location;
#[cfg(feature = "postgres")]
mod postgres;
mod random;
mod read;
mod retention;
mod rows;
pub mod snapshot;
mod sqlite;
mod statements;
#[cfg(all(feature = "testing", unix))]
pub mod testing;
mod token;
mod value;
mod writer;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

pub use cell::{CellOwner, CellTable, StoreCell};
pub use commits::Commits;
pub use database::{DatabaseFacts, LeaseFacts, Standby, TableSize};
use engine::{Access, Engine, ReadPool};
pub use error::StoreError;
pub use location::{STORE_FILE, StoreLocation};
pub use random::random_bytes;
pub use retention::OldRows;
pub use rows::{
    ActRow, EndRow, JoinRow, MatchFilter, MatchLine, MatchRow, MatchState, RecordRow, RunRow, SeasonRow, SeatRow,
    SessionRow, StandingRow, StoredMatch, TokenRow, Write,
};
pub use sqlite::permissions::restrict_new_files;
pub use sqlite::{LOCK_FILE, Lock};
pub use token::{BadHash, BadScope, Scopes, TokenHash};
use writer::{Completion, LeaseTime, PendingWrites, WriterChannels, WriterProgress};

/// Maximum time to wait until a server has created its store.
const CREATION: Duration = Duration::from_secs(10);

/// Interval at which a store of another owner is tried again.
const WAIT: Duration = Duration::from_millis(500);

/// Duration of a commit from which the store counts as stalled.
const STALL: Duration = Duration::from_secs(5);

/// Interval at which a store under creation is checked.
const POLL: Duration = Duration::from_millis(50);

/// Version of the schema of both engines. Versions 1 to 4 preceded release 0.1.0.
const VERSION: u32 = 5;

/// Settings of an open store.
#[derive(Clone)]
pub struct StoreOptions {
    /// Metrics of the writer.
    pub commits: Commits,
    /// Time after which a PostgreSQL store of an owner that no longer answers belongs to another server.
    pub lease: Duration,
    /// Maximum time to wait for a database that cannot be reached, and for the lease of another server.
    pub patience: Duration,
    /// True to accept a PostgreSQL server that acknowledges commits before all its synchronous copies have them. A failure
    /// may then undo acknowledged moves.
    pub allow_async_replication: bool,
    /// Number of cells of a PostgreSQL store; `None` for those that it has, or one in a new store. An existing store gets
    /// more cells only if it is idle.
    pub cells: Option<u32>,
    /// URL at which clients reach this process, for the other owners of cells.
    pub at: String,
}

impl Default for StoreOptions {
    /// A lease of 6 s, without waiting.
    fn default() -> Self {
        StoreOptions {
            commits: Commits::default(),
            lease: Duration::from_secs(6),
            patience: Duration::ZERO,
            allow_async_replication: false,
            cells: None,
            at: String::new(),
        }
    }
}

/// Handle of the store. Clones are cheap and share all state.
///
/// Handles may be used from any tokio runtime whose timer is enabled. Call [`close`](Self::close) before the program
/// ends, since asynchronous writes that are still queued at exit are lost.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    location: StoreLocation,
    cell: StoreCell,
    jobs: mpsc::Sender<PendingWrites>,
    reads: Arc<dyn ReadPool>,
    /// Number of asynchronous jobs that the writer has not stored yet.
    behind: Arc<AtomicUsize>,
    /// Error after which nothing more is stored.
    lost: watch::Receiver<Option<StoreError>>,
    lease: LeaseTime,
    progress: WriterProgress,
    /// Next number of each counter, by counter name; `None` in a store opened with [`open_shared`](Self::open_shared).
    counters: Option<Mutex<HashMap<String, u64>>>,
}

impl Store {
    /// Opens a store as its owner, and creates missing directories, files and tables. A path is that of a data directory.
    /// Other owners are excluded until this store is closed or the process ends, by a lock or, in PostgreSQL, by a lease.
    /// In a store with several cells, the handle owns the first [cell](Self::cell) without an owner.
    ///
    /// # Errors
    ///
    /// [`StoreError::Locked`] while other servers own the store or all its cells, [`StoreError::Foreign`] if the place has other data,
    /// [`StoreError::Version`] if a different version of ludex wrote the store, [`StoreError::Corrupt`],
    /// [`StoreError::Io`]; for PostgreSQL also [`StoreError::NotDurable`] and [`StoreError::Unsupported`].
    pub async fn open(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        Self::open_with(location, StoreOptions::default()).await
    }

    /// Opens the store like [`open`](Self::open), with other settings.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub async fn open_with(location: impl Into<StoreLocation>, options: StoreOptions) -> Result<Self, StoreError> {
        let (location, until) = (location.into(), Instant::now() + options.patience);
        let mut reported = false;
        loop {
            match Self::open_as(location.clone(), Access::Owner, options.clone()).await {
                Err(error @ (StoreError::Locked { .. } | StoreError::Unreachable { .. })) if Instant::now() < until => {
                    if !std::mem::replace(&mut reported, true) {
                        tracing::info!(reason = %error, "waiting for the store");
                    }
                    tokio::time::sleep(WAIT).await;
                }
                opened => return opened?.into_owner().await,
            }
        }
    }

    /// Opens an existing store without owning it, even while a server owns it. Intended for commands that read the
    /// store or manage tokens.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if the place has no store, and the errors of [`open`](Self::open) except `Locked`.
    pub async fn open_shared(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        Self::open_as(location.into(), Access::Beside, StoreOptions::default()).await
    }

    /// Opens the store like [`open_shared`](Self::open_shared), and creates a missing store. Waits for a server
    /// that is creating the store.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub async fn open_or_create(location: impl Into<StoreLocation>) -> Result<Self, StoreError> {
        let (location, until) = (location.into(), Instant::now() + CREATION);
        loop {
            match Self::open_shared(&location).await {
                Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => {}
                opened => return opened,
            }
            match Self::open(&location).await {
                Ok(store) => store.close().await?,
                Err(StoreError::Locked { .. }) if Instant::now() < until => tokio::time::sleep(POLL).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn open_as(location: StoreLocation, access: Access, options: StoreOptions) -> Result<Self, StoreError> {
        let (commits, opened) = (options.commits.clone(), location.clone());
        Self::start(location, commits, async move || open_engine(&opened, access, &options).await).await
    }

    async fn start(
        location: StoreLocation,
        commits: Commits,
        open: impl AsyncFnOnce() -> Result<Engine, StoreError> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (channels, handle) = Self::channels(location);
        let (cell, reads) = writer::spawn(open, commits, channels).await?;
        Ok(handle(cell, reads))
    }

    /// Returns the channels of a writer, and the function that creates the handle of its store.
    fn channels(location: StoreLocation) -> (WriterChannels, impl FnOnce(StoreCell, Arc<dyn ReadPool>) -> Self) {
        let (jobs, queue) = mpsc::channel(writer::QUEUE);
        let behind = Arc::new(AtomicUsize::new(0));
        let (lose, lost) = watch::channel(None);
        let (lease, progress) = (LeaseTime::default(), WriterProgress::default());
        let channels = WriterChannels {
            queue,
            behind: behind.clone(),
            lost: lose,
            lease: lease.clone(),
            progress: progress.clone(),
        };
        let handle = |cell, reads| {
            let counters = None;
            Self { shared: Arc::new(Shared { location, cell, jobs, reads, behind, lost, lease, progress, counters }) }
        };
        (channels, handle)
    }

    /// Starts the writer as a task of the current runtime.
    #[cfg(feature = "testing")]
    fn start_here(location: StoreLocation, commits: Commits, engine: Engine) -> Self {
        let (channels, handle) = Self::channels(location);
        let Engine { cell, writes, reads } = engine;
        tokio::spawn(writer::StoreWriter::new(writes, commits, channels, Instant::now()).run());
        handle(cell, reads)
    }

    /// Returns the handle with the counters that only an owner has.
    async fn into_owner(mut self) -> Result<Self, StoreError> {
        let counters = self.counters().await?;
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.counters = Some(Mutex::new(counters));
        }
        Ok(self)
    }

    /// Returns the location of the store.
    pub fn location(&self) -> &StoreLocation {
        &self.shared.location
    }

    /// Returns the cell that the handle owns; the first one for a handle that owns none.
    pub fn cell(&self) -> StoreCell {
        self.shared.cell
    }

    /// Returns the owners of all cells.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn cells(&self) -> Result<CellTable, StoreError> {
        match self.location() {
            StoreLocation::Sqlite(_) => Ok(CellTable { owners: vec![None], waiting: 0 }),
            StoreLocation::Postgres(_) => self.cell_table().await,
        }
    }

    /// Returns false if another server may own the store by now: the last commit, which renews the lease, is too long ago.
    pub fn holds_lease(&self) -> bool {
        self.shared.lease.is_valid()
    }

    /// Returns the fault that keeps the store from writing at the moment: the error of the last commit, if its reason may
    /// pass, or [`StoreError::Stalled`]. While the last commit has failed, the store tries to write every second.
    pub fn write_fault(&self) -> Option<StoreError> {
        let progress = &self.shared.progress;
        let stalled = progress.commit_time().filter(|time| *time >= STALL);
        let place = || self.location().to_string();
        let stalled = stalled.map(|time| StoreError::Stalled { place: place(), seconds: time.as_secs() });
        stalled.or_else(|| progress.failure())
    }

    /// Returns the error after which this handle stores nothing more, once it occurs: [`StoreError::Lost`] or
    /// [`StoreError::Unreachable`]. A store in an SQLite file is never lost.
    pub async fn wait_until_lost(&self) -> StoreError {
        let mut lost = self.shared.lost.clone();
        let error = lost.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        match error {
            Some(error) => error,
            // The writer has ended, as after `close`.
            None => std::future::pending().await,
        }
    }

    /// Stores `writes` together or not at all, and returns once the writes are on disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if the disk is full. [`StoreError::Conflict`] if a write contradicts stored data.
    /// [`StoreError::Broken`] for a log row after a lost row of its match. [`StoreError::Closed`], or an SQLite error.
    /// After an error, none of `writes` is stored.
    pub async fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.submit(writes).await?.await
    }

    /// Queues `writes`, to be stored together or not at all, and returns a receipt that resolves once the writes are on
    /// disk. Writes are stored in queue order. Waits only while the queue is full.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`]; the receipt resolves to the errors of [`write`](Self::write).
    pub async fn submit(&self, writes: Vec<Write>) -> Result<Receipt, StoreError> {
        Ok(Receipt(self.submit_groups(vec![writes]).await?))
    }

    /// Queues groups of writes like [`submit`](Self::submit). The writes of a group are stored together or not at all;
    /// a failed group does not affect other groups. The groups share one receipt, which resolves to a result per group.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`]; the receipt resolves to the errors of [`write`](Self::write).
    pub async fn submit_groups(&self, groups: Vec<Vec<Write>>) -> Result<GroupReceipt, StoreError> {
        let (ack, receipt) = oneshot::channel();
        let count = groups.len();
        self.queue(groups, Completion::Durable(ack)).await?;
        Ok(GroupReceipt { receipt, count })
    }

    /// Queues `writes` without a receipt. The writes are stored in order; a crash may lose writes not yet on disk.
    /// A failure is logged and returned by the next [`flush`](Self::flush). Writes that fail because the disk is full or
    /// fails are tried again, unless too many wait. Waits only while the queue is full.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn write_behind(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.write_groups_behind(vec![writes]).await
    }

    /// Queues groups of writes like [`write_behind`](Self::write_behind). Each group is stored together or not at all.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn write_groups_behind(&self, groups: Vec<Vec<Write>>) -> Result<(), StoreError> {
        self.shared.behind.fetch_add(1, Ordering::Relaxed);
        let queued = self.queue(groups, Completion::Behind).await;
        if queued.is_err() {
            self.shared.behind.fetch_sub(1, Ordering::Relaxed);
        }
        queued
    }

    /// Waits until all asynchronous writes queued so far are stored or have failed, so that later reads see the writes.
    pub async fn catch_up(&self) {
        if self.shared.behind.load(Ordering::Relaxed) > 0 {
            let (ack, receipt) = oneshot::channel();
            // A closed store has no writes in its queue.
            if self.queue(Vec::new(), Completion::Durable(ack)).await.is_ok() {
                let _ = receipt.await;
            }
        }
    }

    /// Waits like [`catch_up`](Self::catch_up), and for writes that a fault of the disk delays, however long it takes.
    pub async fn settle(&self) {
        if self.shared.behind.load(Ordering::Relaxed) > 0 {
            let (ack, receipt) = oneshot::channel();
            if self.queue(Vec::new(), Completion::Settle(ack)).await.is_ok() {
                let _ = receipt.await;
            }
        }
    }

    /// Waits until all writes queued so far are on disk.
    ///
    /// # Errors
    ///
    /// The first failure of an asynchronous write since the last flush; [`StoreError::Closed`].
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (ack, receipt) = oneshot::channel();
        self.queue(Vec::new(), Completion::Flush(ack)).await?;
        receipt.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Stores all queued writes and releases the directory. All other handles then return [`StoreError::Closed`].
    ///
    /// # Errors
    ///
    /// The errors of [`flush`](Self::flush). The directory is released even after an error.
    pub async fn close(self) -> Result<(), StoreError> {
        let (ack, receipt) = oneshot::channel();
        // Readers close first: the last connection to close removes the log file.
        self.shared.reads.close().await;
        self.queue(Vec::new(), Completion::Close(ack)).await?;
        receipt.await.unwrap_or(Err(StoreError::Closed))
    }

    async fn queue(&self, groups: Vec<Vec<Write>>, done: Completion) -> Result<(), StoreError> {
        self.shared.jobs.send(PendingWrites { groups, done }).await.map_err(|_| StoreError::Closed)
    }

    /// Returns the next number of a counter, from 0, and the write that reserves this number. A number that is used
    /// only after its write is on disk is never returned again, even after a crash.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotOwner`] for a handle that does not own the store.
    pub fn number(&self, counter: &str) -> Result<(u64, Write), StoreError> {
        let counters = self.shared.counters.as_ref().ok_or(StoreError::NotOwner)?;
        let mut counters = counters.lock();
        let next = counters.entry(counter.to_owned()).or_default();
        let number = *next;
        *next += 1;
        Ok((number, Write::Counter { key: counter.to_owned(), value: *next }))
    }

    /// Returns the next number of a counter, from 0, once the number is reserved on disk. No number is returned twice,
    /// even after a crash.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotOwner`] for a handle that does not own the store; the errors of [`write`](Self::write).
    pub async fn next(&self, counter: &str) -> Result<u64, StoreError> {
        let (number, kept) = self.number(counter)?;
        self.write(vec![kept]).await?;
        Ok(number)
    }

    /// Returns the 32 random bytes stored under `name`. The bytes are drawn and stored on first use.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), and [`StoreError::Io`] if the system has no random numbers.
    pub async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let key = format!("secret:{name}");
        let text = match self.meta(&key).await? {
            Some(text) => text,
            None => {
                let fresh = random_bytes::<32>()
                    .map_err(|e| StoreError::Io { place: self.location().to_string(), why: Arc::new(e) })?;
                self.write(vec![Write::MetaOnce { key: key.clone(), value: hex::encode(fresh) }]).await?;
                let kept = self.meta(&key).await?;
                kept.ok_or_else(|| StoreError::Conflict { message: format!("{key} is missing after it was written") })?
            }
        };
        let mut secret = [0; 32];
        hex::decode_to_slice(text, &mut secret)
            .map_err(|e| StoreError::Unreadable { what: key, message: e.to_string() })?;
        Ok(secret)
    }
}

/// Opens the database of a store.
async fn open_engine(location: &StoreLocation, access: Access, options: &StoreOptions) -> Result<Engine, StoreError> {
    match location {
        StoreLocation::Sqlite(path) => sqlite::open(path, access),
        #[cfg(feature = "postgres")]
        StoreLocation::Postgres(url) => postgres::open(url, access, options).await,
        #[cfg(not(feature = "postgres"))]
        StoreLocation::Postgres(_) => {
            let _ = options;
            Err(StoreError::Unsupported { place: location.to_string() })
        }
    }
}

/// Error for a value that cannot be serialized. Such a value must not be stored in part, since a restart could not
/// detect the missing part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unkept(pub String);

/// Serializes a value to the JSON text of a row.
///
/// # Errors
///
/// Values that JSON cannot represent, such as maps whose keys are not text.
pub fn text<T: serde::Serialize>(value: &T) -> Result<String, Unkept> {
    serde_json::to_string(value).map_err(|e| Unkept(e.to_string()))
}

/// Future that resolves when a queued write is on disk or has failed.
#[must_use = "a write may fail"]
pub struct Receipt(GroupReceipt);

impl Future for Receipt {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|mut results| results.pop().unwrap_or(Err(StoreError::Closed)))
    }
}

/// Future that resolves to the result of each group of writes when all groups are on disk or have failed.
#[must_use = "a write may fail"]
pub struct GroupReceipt {
    receipt: oneshot::Receiver<Vec<Result<(), StoreError>>>,
    count: usize,
}

impl Future for GroupReceipt {
    type Output = Vec<Result<(), StoreError>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let count = self.count;
        let results = Pin::new(&mut self.receipt).poll(context);
        results.map(|results| results.unwrap_or_else(|_| vec![Err(StoreError::Closed); count]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn values_that_json_cannot_represent_are_refused() {
        assert_eq!(text(&BTreeMap::from([("a", 1)])).unwrap(), r#"{"a":1}"#);
        // The first value fails immediately, the second after a part that could have been stored.
        let broken = BTreeMap::from([((1, 2), "keys of a JSON object are texts")]);
        for refused in [text(&broken), text(&("whole", &broken))] {
            assert!(refused.unwrap_err().to_string().contains("key must be a string"));
        }
    }

    #[tokio::test]
    async fn missing_store_is_created_after_its_owner_releases_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        // A server owns the directory, but its store does not exist yet.
        let owner = sqlite::lock(folder.path()).unwrap();
        let path = folder.path().to_owned();
        let mut opened = tokio::spawn(async move { Store::open_or_create(&path).await });
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut opened).await.is_err(), "opening waits");
        drop(owner);
        let store = opened.await.unwrap().unwrap();
        assert!(matches!(store.number("rated"), Err(StoreError::NotOwner)));
        store.close().await.unwrap();
    }

    fn start(id: &str) -> Write {
        Write::MatchStart(MatchRow {
            id: id.to_owned(),
            game: "g".to_owned(),
            string: "g".to_owned(),
            rated: true,
            run: None,
            seats: Vec::new(),
            header: "{}".to_owned(),
            secret: "{}".to_owned(),
            started_ms: 0,
        })
    }

    fn act(id: &str, n: u64, size: usize) -> Write {
        Write::Act { id: id.to_owned(), n, body: "x".repeat(size) }
    }

    /// Limits the file with SQLite's page limit, which yields the same error as a full disk (`SQLITE_FULL`).
    #[tokio::test]
    async fn full_disk_fails_only_the_queued_writes() {
        let folder = tempfile::tempdir().unwrap();
        let location = StoreLocation::in_folder(folder.path());
        let path = location.path().unwrap().to_owned();
        let open = async move || sqlite::open_limited(&path, 100);
        let store = Store::start(location, Commits::default(), open).await.unwrap();
        store.write(vec![start("m_1"), start("m_2"), act("m_1", 0, 10)]).await.unwrap();

        let mut waiting = Vec::new();
        for k in 0..20 {
            waiting.push(
                store.submit(vec![start(&format!("big_{k}")), act(&format!("big_{k}"), 0, 500_000)]).await.unwrap(),
            );
        }
        store.write_behind(vec![act("m_1", 1, 500_000)]).await.unwrap();
        let hole = store.submit(vec![act("m_1", 2, 10)]).await.unwrap();
        for receipt in waiting {
            assert!(matches!(receipt.await, Err(StoreError::Full { .. })));
        }
        assert!(matches!(hole.await, Err(StoreError::Broken { .. })));
        assert!(matches!(store.flush().await, Err(StoreError::Full { .. })));

        // Small writes and reads still work.
        store.write(vec![act("m_2", 0, 10)]).await.unwrap();
        let running = store.running().await.unwrap();
        let kept: Vec<_> = running.iter().map(|kept| (kept.row.id.as_str(), kept.acts.len())).collect();
        assert_eq!(kept, [("m_1", 1), ("m_2", 1)]);
        // The asynchronous write was tried again until now.
        assert!(matches!(store.close().await, Err(StoreError::Full { .. })));
    }
}
