//! Batch interfaces of providers: requests of many matches are collected and submitted as one batch.
//!
//! All agents of the process with the same endpoint, model and batch settings share one collector, which has its own
//! thread. Each caller blocks until the reply to its request is available.

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

/// Senders to the request queues of the collectors, by settings.
type Collectors = HashMap<CollectorSettings, mpsc::Sender<QueuedItem>>;

static COLLECTORS: LazyLock<Mutex<Collectors>> = LazyLock::new(Mutex::default);

/// Counter from which requests without a journal get unique names.
static NAMELESS: AtomicU64 = AtomicU64::new(0);

/// Origin of a request: the journal and key of its call.
pub(super) struct ItemOrigin {
    /// Directory that contains the batch log, if the request has a journal.
    folder: Option<PathBuf>,
    /// Unique name of the request. If the request has a journal, the name is stable across restarts.
    name: String,
}

impl ItemOrigin {
    /// Returns the origin of the call `key` in the journal at `shelf`. Without a journal, the origin is a new unique
    /// name.
    pub(super) fn new(shelf: Option<Shelf<'_>>, key: &str) -> Self {
        match shelf {
            Some(Shelf { folder, journal }) => {
                ItemOrigin { folder: Some(folder.to_owned()), name: format!("{journal}/{key}") }
            }
            None => ItemOrigin { folder: None, name: NAMELESS.fetch_add(1, Relaxed).to_string() },
        }
    }
}

/// Request in a batch: its id, and the directory of the batch log.
#[derive(Clone)]
pub(super) struct BatchItem {
    /// First 16 bytes of SHA-256 over the origin's name and the body, in hex.
    id: String,
    folder: Option<PathBuf>,
}

/// Result of a batched request.
#[derive(Clone, Debug)]
pub(super) enum ItemResult {
    /// Response as a direct call would have received it.
    Answer(HttpResponse),
    /// Retryable failure, with the retry delay if the provider requested one.
    Later(String, Option<Duration>),
    Never(String),
    /// Deadline reached before a result was available.
    Late,
}

/// Request in the queue of a collector.
struct QueuedItem {
    item: BatchItem,
    body: String,
    at: Instant,
    answer: mpsc::Sender<ItemResult>,
}

impl QueuedItem {
    /// Sends the result to the caller. Has no effect if the caller has stopped waiting.
    fn complete(&self, result: ItemResult) {
        let _ = self.answer.send(result);
    }
}

/// Settings that all requests of one collector share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CollectorSettings {
    api: Api,
    base_url: String,
    model: String,
    key_env: Option<String>,
    timeout: Duration,
    batching: Batching,
}

/// Handle to the collector of an endpoint.
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

    /// Returns the batch item for a request with this origin and body.
    pub(super) fn item(&self, origin: &ItemOrigin, body: &str) -> BatchItem {
        let mut sum = Sha256::new();
        sum.update(&origin.name);
        sum.update([0]);
        sum.update(body);
        BatchItem { id: hex::encode(&sum.finalize()[..16]), folder: origin.folder.clone() }
    }

    /// Submits a request and blocks until its result is available or the deadline is reached.
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

    /// Returns the sender to the collector's queue, and starts the collector on the first request.
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
