//! What outlives the server: matches and their logs, records, sessions, tickets, tokens.
//!
//! One SQLite file, `ludex.db`, in the data folder. One writer thread takes everything that is queued, puts it into
//! one transaction, and acknowledges after the commit has reached the disk, so that many matches share the price of
//! one `fsync`. Reads go through a small pool of connections of their own and never wait for a writer.
//!
//! The store knows no rules: bodies are JSON text that it hands back as it got them.

mod apply;
mod connection;
mod error;
mod open;
mod read;
mod readers;
mod rows;
mod writer;

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::metrics::Commits;

pub use error::StoreError;
use readers::Readers;
pub use rows::{
    ActRow, EndRow, JoinRow, MatchFilter, MatchLine, MatchRow, RecordRow, SeatRow, SessionRow, StoredMatch, TicketRow,
    TokenRow, Write,
};
use writer::{Completion, Job};

/// A handle on the store; clones are cheap and share everything.
///
/// Handles may be used from any tokio runtime that has its timer enabled. Call [`close`](Self::close) before the
/// program ends: what was written behind and is still queued when the process exits is lost.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    jobs: mpsc::Sender<Job>,
    readers: Readers,
    /// What the next number of each counter is; absent in a store beside a server.
    counters: Option<Mutex<HashMap<String, u64>>>,
}

impl Store {
    /// Opens the store in `folder` as its owner, making folder and file when they are missing and bringing an older
    /// file up to date. A lock keeps every other owner out until this one is closed or its process ends.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another server owns the folder, [`StoreError::Foreign`] when `ludex.db` is
    /// something else, [`StoreError::Version`] when it is newer than this program, [`StoreError::Corrupt`],
    /// [`StoreError::Io`].
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_measured(folder, Commits::default()).await
    }

    /// As [`open`](Self::open); `commits` measures what the writer does.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) async fn open_measured(folder: &Path, commits: Commits) -> Result<Self, StoreError> {
        let opened = opened(folder, open::Access::Owner).await?;
        let counters = opened.readers.read(read::counters).await?;
        Self::start(opened, Some(Mutex::new(counters)), commits)
    }

    /// Opens an existing store beside the server that may own it, for commands that read it or manage tokens.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none, [`StoreError::Version`] when a running server of another version
    /// owns it, and those of [`open`](Self::open) but `Locked`.
    pub async fn open_shared(folder: &Path) -> Result<Self, StoreError> {
        Self::start(opened(folder, open::Access::Beside).await?, None, Commits::default())
    }

    fn start(
        opened: open::OpenStore,
        counters: Option<Mutex<HashMap<String, u64>>>,
        commits: Commits,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(writer::QUEUE);
        let (path, readers) = (opened.path.clone(), opened.readers.clone());
        writer::spawn(opened, queue, commits)?;
        Ok(Self { shared: Arc::new(Shared { path, jobs, readers, counters }) })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Keeps `writes`, all or none, and returns when they are on the disk.
    ///
    /// # Errors
    /// [`StoreError::Full`] when the disk is, [`StoreError::Conflict`] when a write contradicts what is there,
    /// [`StoreError::Broken`] for acts after one that was lost, [`StoreError::Closed`], or SQLite's. Nothing of
    /// `writes` was kept then.
    pub async fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.submit(writes).await?.await
    }

    /// Queues `writes`, all or none, and returns at once with a receipt that resolves when they are on the disk. What
    /// is queued earlier is kept earlier. Waits only while the queue is full.
    ///
    /// # Errors
    /// [`StoreError::Closed`]; the receipt resolves to those of [`write`](Self::write).
    pub async fn submit(&self, writes: Vec<Write>) -> Result<Receipt, StoreError> {
        let (ack, receipt) = oneshot::channel();
        self.queue(writes, Completion::Durable(ack)).await?;
        Ok(Receipt(receipt))
    }

    /// Queues `writes` without asking when they are on the disk: soon, in order with all others, but a crash may lose
    /// the last of them. A failure is logged and told by the next [`flush`](Self::flush). Waits only while the queue
    /// is full.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub async fn write_behind(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.queue(writes, Completion::Behind).await
    }

    /// Returns when everything that was queued before is on the disk.
    ///
    /// # Errors
    /// The first failure of a write behind since the last flush; [`StoreError::Closed`].
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (ack, receipt) = oneshot::channel();
        self.queue(Vec::new(), Completion::Flush(ack)).await?;
        Receipt(receipt).await
    }

    /// Keeps everything that is queued and lets go of the folder. All other handles answer
    /// [`StoreError::Closed`] from now on.
    ///
    /// # Errors
    /// As [`flush`](Self::flush); the folder is free all the same.
    pub async fn close(self) -> Result<(), StoreError> {
        let (ack, receipt) = oneshot::channel();
        // The readers go first: the last connection to leave tidies the log file up.
        self.shared.readers.close().await;
        self.queue(Vec::new(), Completion::Close(ack)).await?;
        Receipt(receipt).await
    }

    async fn queue(&self, writes: Vec<Write>, done: Completion) -> Result<(), StoreError> {
        self.shared.jobs.send(Job { writes, done }).await.map_err(|_| StoreError::Closed)
    }

    /// The next number of a counter, from 0, and the write that keeps it. If nobody hears of the number before that write
    /// is on the disk, no number is given twice, even after a crash.
    ///
    /// # Errors
    /// [`StoreError::NotOwner`] beside a server.
    pub fn number(&self, counter: &str) -> Result<(u64, Write), StoreError> {
        let counters = self.shared.counters.as_ref().ok_or(StoreError::NotOwner)?;
        let mut counters = counters.lock();
        let next = counters.entry(counter.to_owned()).or_default();
        let number = *next;
        *next += 1;
        Ok((number, Write::Counter { key: counter.to_owned(), value: *next }))
    }

    /// The next number of a counter, from 0, when it is on the disk. No number is given twice, even after a crash.
    ///
    /// # Errors
    /// [`StoreError::NotOwner`] beside a server; those of [`write`](Self::write).
    pub async fn next(&self, counter: &str) -> Result<u64, StoreError> {
        let (number, kept) = self.number(counter)?;
        self.write(vec![kept]).await?;
        Ok(number)
    }

    /// 32 random bytes by name: drawn when first asked for, and the same ones later.
    ///
    /// # Errors
    /// Those of [`write`](Self::write); [`StoreError::Io`] when the system has no random numbers.
    pub async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let key = format!("secret:{name}");
        let text = match self.meta(&key).await? {
            Some(text) => text,
            None => {
                let fresh = crate::random::random_bytes::<32>().map_err(|e| StoreError::io(self.path(), e))?;
                self.write(vec![Write::MetaOnce { key: key.clone(), value: hex::encode(fresh) }]).await?;
                let kept = self.meta(&key).await?;
                kept.ok_or_else(|| StoreError::Conflict { message: format!("{key} was written and is not there") })?
            }
        };
        let mut secret = [0; 32];
        hex::decode_to_slice(text, &mut secret)
            .map_err(|e| StoreError::Unreadable { what: key, message: e.to_string() })?;
        Ok(secret)
    }

    /// Marks a ticket as shown and returns the join that it stands for: `join` the first time, and the same one
    /// whenever it is shown again. The caller checks first that the ticket is there and the agent is its own.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] for an unknown ticket; those of [`write`](Self::write).
    pub async fn show_ticket(&self, ticket: &str, join: &str) -> Result<String, StoreError> {
        self.write(vec![Write::TicketShown { ticket: ticket.to_owned(), join: join.to_owned() }]).await?;
        let row = self.ticket(ticket).await?;
        row.and_then(|row| row.join)
            .ok_or_else(|| StoreError::Conflict { message: format!("the ticket {ticket} is void") })
    }
}

/// Opens on a thread where that may take its time.
async fn opened(folder: &Path, access: open::Access) -> Result<open::OpenStore, StoreError> {
    let path = folder.to_owned();
    let opened = tokio::task::spawn_blocking(move || open::open(&path, access)).await;
    opened.map_err(|e| StoreError::io(folder, std::io::Error::other(e)))?
}

/// Something that cannot be written down, and why. It must not be kept in part: a restart could not tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unkept(pub String);

/// A value as the JSON text of a row.
///
/// # Errors
/// What JSON cannot carry, such as a map whose keys are not texts.
pub(crate) fn text<T: serde::Serialize>(value: &T) -> Result<String, Unkept> {
    serde_json::to_string(value).map_err(|e| Unkept(e.to_string()))
}

/// Resolves when a submitted write is on the disk, or could not be kept.
#[must_use = "a write may fail"]
pub struct Receipt(oneshot::Receiver<Result<(), StoreError>>);

impl Future for Receipt {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_json_cannot_carry_is_refused_and_never_kept_empty() {
        assert_eq!(text(&BTreeMap::from([("a", 1)])).unwrap(), r#"{"a":1}"#);
        // Broken at once, and broken after a part that could have been kept.
        let broken = BTreeMap::from([((1, 2), "keys of a JSON object are texts")]);
        for refused in [text(&broken), text(&("whole", &broken))] {
            assert!(refused.unwrap_err().to_string().contains("key must be a string"));
        }
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

    /// SQLite's limit on pages gives the same error as a disk without room (`SQLITE_FULL`).
    #[tokio::test]
    async fn a_full_disk_is_told_to_everyone_and_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let opened = open::open(folder.path(), open::Access::Owner).unwrap();
        opened.writer.execute_batch("PRAGMA max_page_count = 100").unwrap();
        let store = Store::start(opened, Some(Mutex::default()), Commits::default()).unwrap();
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

        // What is small enough is still kept, and reading works too.
        store.write(vec![act("m_2", 0, 10)]).await.unwrap();
        let running = store.running().await.unwrap();
        let kept: Vec<_> = running.iter().map(|kept| (kept.row.id.as_str(), kept.acts.len())).collect();
        assert_eq!(kept, [("m_1", 1), ("m_2", 1)]);
        store.close().await.unwrap();
    }
}
