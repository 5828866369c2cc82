//! The batch interfaces of providers: the questions of many matches are gathered, sent together and answered together.
//!
//! All agents of the process that ask the same endpoint for the same model in the same way share one gatherer, which has a thread
//! of its own. Who asks waits for the answer to its own question.

mod anthropic;
mod batch_api;
mod batch_log;
mod collector;
mod openai;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use ludex_env::Shelf;
use sha2::{Digest as _, Sha256};

use self::collector::BatchCollector;
use super::http::HttpResponse;
use super::settings::{Api, Batching, Settings};

/// Where questions for each gatherer go.
type Gatherers = HashMap<Terms, mpsc::Sender<QueuedItem>>;

static GATHERERS: LazyLock<Mutex<Gatherers>> = LazyLock::new(Mutex::default);

/// Questions that no journal names.
static NAMELESS: AtomicU64 = AtomicU64::new(0);

/// Whose question it is.
pub(super) struct Origin {
    /// The folder that remembers the batches of its questions.
    folder: Option<PathBuf>,
    /// A name that no other question has; with a folder, it is the same when the question is asked again.
    name: String,
}

impl Origin {
    /// The origin of the call `key` of a journal on this shelf.
    pub(super) fn new(shelf: Option<Shelf<'_>>, key: &str) -> Self {
        match shelf {
            Some(Shelf { folder, journal }) => {
                Origin { folder: Some(folder.to_owned()), name: format!("{journal}/{key}") }
            }
            None => Origin { folder: None, name: NAMELESS.fetch_add(1, Relaxed).to_string() },
        }
    }
}

/// A question's name in a batch, and where that batch is remembered.
#[derive(Clone)]
pub(super) struct BatchItem {
    /// The first 16 bytes of SHA-256 over its origin and its body, in hex.
    id: String,
    folder: Option<PathBuf>,
}

/// What becomes of a question.
#[derive(Clone, Debug)]
pub(super) enum ItemResult {
    /// What a call of its own would have been answered.
    Answer(HttpResponse),
    /// It may be asked again; after the given time, if the provider names one.
    Later(String, Option<Duration>),
    Never(String),
    /// The deadline passed.
    Late,
}

/// A question on its way.
struct QueuedItem {
    question: BatchItem,
    body: String,
    /// When it came.
    at: Instant,
    answer: mpsc::Sender<ItemResult>,
}

impl QueuedItem {
    /// Tells it to who asked, who may have left.
    fn tell(&self, word: ItemResult) {
        let _ = self.answer.send(word);
    }
}

/// What all questions of one gatherer have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Terms {
    api: Api,
    base_url: String,
    model: String,
    key_env: Option<String>,
    timeout: Duration,
    batching: Batching,
}

/// The way to the gatherer of an endpoint.
pub(super) struct BatchClient {
    terms: Terms,
    key: Option<String>,
}

impl BatchClient {
    pub(super) fn new(settings: &Settings, batching: Batching, key: Option<String>) -> Self {
        let terms = Terms {
            api: settings.api,
            base_url: settings.base_url.clone(),
            model: settings.model.clone(),
            key_env: settings.key_env.clone(),
            timeout: settings.timeout,
            batching,
        };
        BatchClient { terms, key }
    }

    /// The question with this body.
    pub(super) fn question(&self, origin: &Origin, body: &str) -> BatchItem {
        let mut sum = Sha256::new();
        sum.update(&origin.name);
        sum.update([0]);
        sum.update(body);
        BatchItem { id: hex::encode(&sum.finalize()[..16]), folder: origin.folder.clone() }
    }

    /// Waits for the answer to a question.
    pub(super) fn ask(&self, question: &BatchItem, body: &str, deadline: Option<Instant>) -> ItemResult {
        let (answer, told) = mpsc::channel();
        let asked = QueuedItem { question: question.clone(), body: body.to_owned(), at: Instant::now(), answer };
        let ended = || ItemResult::Never("the thread that gathers questions has ended".to_owned());
        match self.gatherer() {
            Ok(gatherer) if gatherer.send(asked).is_ok() => {}
            Ok(_) => return ended(),
            Err(e) => return ItemResult::Never(format!("the thread for batches could not be started: {e}")),
        }
        let Some(deadline) = deadline else { return told.recv().unwrap_or_else(|_| ended()) };
        match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(word) => word,
            Err(mpsc::RecvTimeoutError::Timeout) => ItemResult::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => ended(),
        }
    }

    /// The gatherer, which begins with the first question.
    fn gatherer(&self) -> std::io::Result<mpsc::Sender<QueuedItem>> {
        let mut all = GATHERERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&self.terms) {
            return Ok(known.clone());
        }
        let (questions, queue) = mpsc::channel();
        let gatherer = BatchCollector::new(self.terms.clone(), self.key.clone(), queue);
        std::thread::Builder::new().name("batches".into()).spawn(move || gatherer.run())?;
        all.insert(self.terms.clone(), questions.clone());
        Ok(questions)
    }
}
