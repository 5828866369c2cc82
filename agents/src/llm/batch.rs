//! Batch interfaces of providers: requests of many matches are collected, submitted and answered together.
//!
//! All agents of the process with the same endpoint, model and batch settings share one collector with a dedicated
//! thread. Each caller blocks on its own reply.

mod anthropic;
mod batch_api;
mod batch_log;
mod collector;
mod openai;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

use ludex_env::Shelf;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use self::collector::BatchCollector;
use super::http::HttpResponse;
use super::settings::{Api, Batching, Settings};

/// Request channels of the collectors, by settings.
type Collectors = HashMap<CollectorSettings, mpsc::Sender<QueuedItem>>;

static COLLECTORS: LazyLock<Mutex<Collectors>> = LazyLock::new(Mutex::default);

/// Number of requests without a journal.
static NAMELESS: AtomicU64 = AtomicU64::new(0);

/// Origin of a request.
pub(super) struct ItemOrigin {
    /// Directory with the log of its batches.
    folder: Option<PathBuf>,
    /// Unique name; if there is a directory, it is stable across restarts.
    name: String,
}

impl ItemOrigin {
    /// Returns the origin of the call `key` of a journal with this directory.
    pub(super) fn new(shelf: Option<Shelf<'_>>, key: &str) -> Self {
        match shelf {
            Some(Shelf { folder, journal }) => {
                ItemOrigin { folder: Some(folder.to_owned()), name: format!("{journal}/{key}") }
            }
            None => ItemOrigin { folder: None, name: NAMELESS.fetch_add(1, Relaxed).to_string() },
        }
    }
}

/// Id of a request in a batch, and the directory of the batch log.
#[derive(Clone)]
pub(super) struct BatchItem {
    /// First 16 bytes of SHA-256 over origin and body, in hex.
    id: String,
    folder: Option<PathBuf>,
}

/// Result of a batched request.
#[derive(Clone, Debug)]
pub(super) enum ItemResult {
    /// Response that a direct call would have received.
    Answer(HttpResponse),
    /// Retryable failure, with the provider's retry delay if it named one.
    Later(String, Option<Duration>),
    Never(String),
    /// Deadline passed without a result.
    Late,
}

/// Request in the queue.
struct QueuedItem {
    item: BatchItem,
    body: String,
    at: Instant,
    answer: mpsc::Sender<ItemResult>,
}

impl QueuedItem {
    /// Sends the result to the caller, which may have stopped waiting.
    fn complete(&self, result: ItemResult) {
        let _ = self.answer.send(result);
    }
}

/// Settings shared by all requests of one collector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CollectorSettings {
    api: Api,
    base_url: String,
    model: String,
    key_env: Option<String>,
    timeout: Duration,
    batching: Batching,
}

/// Handle on the collector of an endpoint.
pub(super) struct BatchClient {
    settings: CollectorSettings,
    key: Option<String>,
}

impl BatchClient {
    pub(super) fn new(settings: &Settings, batching: Batching, key: Option<String>) -> Self {
        let settings = CollectorSettings {
            api: settings.api,
            base_url: settings.base_url.clone(),
            model: settings.model.clone(),
            key_env: settings.key_env.clone(),
            timeout: settings.timeout,
            batching,
        };
        BatchClient { settings, key }
    }

    /// Returns the batch item with this body.
    pub(super) fn item(&self, origin: &ItemOrigin, body: &str) -> BatchItem {
        let mut sum = Sha256::new();
        sum.update(&origin.name);
        sum.update([0]);
        sum.update(body);
        BatchItem { id: hex::encode(&sum.finalize()[..16]), folder: origin.folder.clone() }
    }

    /// Blocks until the result of a request is available.
    pub(super) fn request(&self, item: &BatchItem, body: &str, deadline: Option<Instant>) -> ItemResult {
        let (answer, results) = mpsc::channel();
        let queued = QueuedItem { item: item.clone(), body: body.to_owned(), at: Instant::now(), answer };
        let ended = || ItemResult::Never("the batch collector thread has ended".to_owned());
        match self.collector() {
            Ok(collector) if collector.send(queued).is_ok() => {}
            Ok(_) => return ended(),
            Err(e) => return ItemResult::Never(format!("cannot start the batch collector thread: {e}")),
        }
        let Some(deadline) = deadline else { return results.recv().unwrap_or_else(|_| ended()) };
        match results.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(result) => result,
            Err(mpsc::RecvTimeoutError::Timeout) => ItemResult::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => ended(),
        }
    }

    /// Returns the collector's channel. The first request starts the collector.
    fn collector(&self) -> std::io::Result<mpsc::Sender<QueuedItem>> {
        let mut all = COLLECTORS.lock();
        if let Some(known) = all.get(&self.settings) {
            return Ok(known.clone());
        }
        let (items, queue) = mpsc::channel();
        let collector = BatchCollector::new(self.settings.clone(), self.key.clone(), queue);
        std::thread::Builder::new().name("batches".into()).spawn(move || collector.run())?;
        all.insert(self.settings.clone(), items.clone());
        Ok(items)
    }
}
