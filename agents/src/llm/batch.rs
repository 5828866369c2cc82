//! The batch interfaces of providers: the questions of many matches are gathered, sent together and answered together.
//!
//! All agents of the process that ask the same endpoint for the same model in the same way share one gatherer, which has a thread
//! of its own. Who asks waits for the answer to its own question.

mod anthropic;
mod gatherer;
mod openai;
mod shelf;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use ludex_env::Shelf;
use sha2::{Digest as _, Sha256};

use self::gatherer::Gatherer;
use super::http::Answered;
use super::settings::{Api, Batching, Settings};

/// Where questions for each gatherer go.
type Gatherers = HashMap<Terms, mpsc::Sender<Asked>>;

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
pub(super) struct Question {
    /// The first 16 bytes of SHA-256 over its origin and its body, in hex.
    id: String,
    folder: Option<PathBuf>,
}

/// What becomes of a question.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// What a call of its own would have been answered.
    Answer(Answered),
    /// It may be asked again; after the given time, if the provider names one.
    Later(String, Option<Duration>),
    Never(String),
    /// The deadline passed.
    Late,
}

/// A question on its way.
struct Asked {
    question: Question,
    body: String,
    /// When it came.
    at: Instant,
    answer: mpsc::Sender<Word>,
}

impl Asked {
    /// Tells it to who asked, who may have left.
    fn tell(&self, word: Word) {
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
pub(super) struct Batches {
    terms: Terms,
    key: Option<String>,
}

impl Batches {
    pub(super) fn new(settings: &Settings, batching: Batching, key: Option<String>) -> Self {
        let terms = Terms {
            api: settings.api,
            base_url: settings.base_url.clone(),
            model: settings.model.clone(),
            key_env: settings.key_env.clone(),
            timeout: settings.timeout,
            batching,
        };
        Batches { terms, key }
    }

    /// The question with this body.
    pub(super) fn question(&self, origin: &Origin, body: &str) -> Question {
        let mut sum = Sha256::new();
        sum.update(&origin.name);
        sum.update([0]);
        sum.update(body);
        Question { id: hex::encode(&sum.finalize()[..16]), folder: origin.folder.clone() }
    }

    /// Waits for the answer to a question.
    pub(super) fn ask(&self, question: &Question, body: &str, deadline: Option<Instant>) -> Word {
        let (answer, told) = mpsc::channel();
        let asked = Asked { question: question.clone(), body: body.to_owned(), at: Instant::now(), answer };
        let ended = || Word::Never("the thread that gathers questions has ended".to_owned());
        match self.gatherer() {
            Ok(gatherer) if gatherer.send(asked).is_ok() => {}
            Ok(_) => return ended(),
            Err(e) => return Word::Never(format!("the thread for batches could not be started: {e}")),
        }
        let Some(deadline) = deadline else { return told.recv().unwrap_or_else(|_| ended()) };
        match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(word) => word,
            Err(mpsc::RecvTimeoutError::Timeout) => Word::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) => ended(),
        }
    }

    /// The gatherer, which begins with the first question.
    fn gatherer(&self) -> std::io::Result<mpsc::Sender<Asked>> {
        let mut all = GATHERERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&self.terms) {
            return Ok(known.clone());
        }
        let (questions, queue) = mpsc::channel();
        let gatherer = Gatherer::new(self.terms.clone(), self.key.clone(), queue);
        std::thread::Builder::new().name("batches".into()).spawn(move || gatherer.run())?;
        all.insert(self.terms.clone(), questions.clone());
        Ok(questions)
    }
}
