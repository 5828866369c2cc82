//! The thread that gathers questions, sends them in batches, and looks whether batches are done.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::batch_api::{BatchApi, BatchStatus};
use super::{ItemResult, QueuedItem, Terms, anthropic, batch_log, openai};
use crate::llm::settings::Api;

/// Most bytes of the bodies in a batch: half of what the stricter of the two providers takes.
const BYTES: usize = 100 << 20;
/// What a question has in a batch beside its body, in bytes.
const AROUND: usize = 120;
/// A batch that is not done after this time is given up. Providers end them after 24 hours.
const LONGEST: Duration = Duration::from_secs(26 * 3600);
/// For so long it does not matter that nobody tells whether a batch is done.
const PATIENCE: Duration = Duration::from_secs(300);

/// Gathers the questions of one endpoint.
pub(super) struct BatchCollector {
    terms: Terms,
    wire: BatchApi,
    queue: mpsc::Receiver<QueuedItem>,
    /// Questions that are not sent yet.
    gathered: Vec<QueuedItem>,
    /// When the newest of them came.
    newest: Option<Instant>,
    /// Batches that are waited for, by id.
    out: BTreeMap<String, InFlightBatch>,
    /// The batches of questions without an answer, by question.
    known: HashMap<String, String>,
    /// Folders whose batches are known.
    shelves: HashSet<PathBuf>,
    /// Nothing is sent before a batch is done, because the provider does not take more.
    held: bool,
    next_look: Instant,
}

/// A batch that is waited for.
struct InFlightBatch {
    waiting: HashMap<String, QueuedItem>,
    since: Instant,
    /// Whether an earlier process sent it.
    found: bool,
    /// Since when nobody tells what became of it.
    unknown: Option<Instant>,
}

impl InFlightBatch {
    fn new(found: bool) -> Self {
        InFlightBatch { waiting: HashMap::new(), since: Instant::now(), found, unknown: None }
    }
}

impl BatchCollector {
    pub(super) fn new(terms: Terms, key: Option<String>, queue: mpsc::Receiver<QueuedItem>) -> Self {
        BatchCollector {
            wire: BatchApi::new(terms.clone(), key),
            terms,
            queue,
            gathered: Vec::new(),
            newest: None,
            out: BTreeMap::new(),
            known: HashMap::new(),
            shelves: HashSet::new(),
            held: false,
            next_look: Instant::now(),
        }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self) {
        loop {
            let asked = match self.due() {
                None => self.queue.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                Some(due) => self.queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match asked {
                Ok(asked) => self.take(asked),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(asked) = self.queue.try_recv() {
                self.take(asked);
            }
            self.send();
            if !self.out.is_empty() && self.next_look <= Instant::now() {
                self.look();
            }
        }
    }

    /// When there is something to do, if nobody asks before.
    fn due(&self) -> Option<Instant> {
        let send = self.newest.filter(|_| !self.held).map(|newest| newest + self.terms.batching.wait);
        let look = (!self.out.is_empty()).then_some(self.next_look);
        send.into_iter().chain(look).min()
    }

    /// Takes a question: it waits for its batch if it has one, or else for others.
    fn take(&mut self, asked: QueuedItem) {
        if let Some(folder) = &asked.question.folder
            && self.shelves.insert(folder.clone())
        {
            self.known.extend(batch_log::read(folder, &self.terms));
        }
        let id = asked.question.id.clone();
        match self.known.get(&id) {
            Some(batch) => {
                if self.out.is_empty() {
                    // More questions of it may come in a moment.
                    self.next_look = asked.at + self.terms.batching.wait.min(self.terms.batching.poll);
                }
                self.out.entry(batch.clone()).or_insert_with(|| InFlightBatch::new(true)).waiting.insert(id, asked);
            }
            None => self.gather(asked),
        }
    }

    fn gather(&mut self, asked: QueuedItem) {
        // Who asks the same again has left before.
        self.gathered.retain(|other| other.question.id != asked.question.id);
        self.newest = self.newest.max(Some(asked.at));
        self.gathered.push(asked);
    }

    /// Sends what fills a batch, and all of it if nobody asked for a while.
    fn send(&mut self) {
        while !self.held {
            let quiet = self.newest.is_some_and(|newest| newest + self.terms.batching.wait <= Instant::now());
            let (n, full) = self.next_batch();
            if n == 0 || !(quiet || full) {
                return;
            }
            let questions: Vec<QueuedItem> = self.gathered.drain(..n).collect();
            if self.gathered.is_empty() {
                self.newest = None;
            }
            match self.create(&questions) {
                Ok(batch) => self.sent(batch, questions),
                Err(word) => questions.iter().for_each(|asked| asked.tell(word.clone())),
            }
        }
    }

    /// How many of the questions make the next batch, and whether it holds no more.
    fn next_batch(&self) -> (usize, bool) {
        let (mut n, mut bytes) = (0, 0);
        for asked in &self.gathered {
            bytes += asked.body.len() + AROUND;
            if n > 0 && bytes > BYTES {
                return (n, true);
            }
            n += 1;
            if n == self.terms.batching.size {
                return (n, true);
            }
        }
        (n, false)
    }

    fn create(&self, questions: &[QueuedItem]) -> Result<String, ItemResult> {
        match self.terms.api {
            Api::OpenAi => openai::create(&self.wire, questions),
            Api::Anthropic => anthropic::create(&self.wire, questions),
        }
    }

    fn sent(&mut self, batch: String, questions: Vec<QueuedItem>) {
        // If the disk is full, the run cannot keep the answers either, and says so.
        let _ = batch_log::note(&self.terms, &batch, &questions);
        if self.out.is_empty() {
            self.next_look = Instant::now() + self.terms.batching.poll;
        }
        let out = self.out.entry(batch.clone()).or_insert_with(|| InFlightBatch::new(false));
        for asked in questions {
            self.known.insert(asked.question.id.clone(), batch.clone());
            out.waiting.insert(asked.question.id.clone(), asked);
        }
    }

    /// Looks after every batch that is waited for.
    fn look(&mut self) {
        let all = std::mem::take(&mut self.out);
        let mut left = all.len();
        for (id, mut out) in all {
            left -= 1;
            let look = match self.terms.api {
                Api::OpenAi => openai::look(&self.wire, &id),
                Api::Anthropic => anthropic::look(&self.wire, &id),
            };
            match look {
                BatchStatus::Running if out.since.elapsed() < LONGEST => {
                    out.unknown = None;
                    self.out.insert(id, out);
                }
                BatchStatus::Running => {
                    let hours = LONGEST.as_secs() / 3600;
                    self.end(out, ItemResult::Later(format!("the batch {id} was not done after {hours} hours"), None));
                }
                BatchStatus::Ended(words) => {
                    for (question, word) in words {
                        if let Some(asked) = out.waiting.remove(&question) {
                            self.known.remove(&question);
                            asked.tell(word);
                        }
                    }
                    self.end(
                        out,
                        ItemResult::Later(format!("the batch {id} ended without an answer to this question"), None),
                    );
                }
                BatchStatus::Failed(word) => self.end(out, word),
                BatchStatus::Full(why) if left == 0 && self.out.is_empty() => {
                    self.end(out, ItemResult::Later(format!("{why}. Try a smaller batch_size"), None));
                }
                BatchStatus::Full(_) => {
                    self.again(out);
                    self.held = true;
                }
                BatchStatus::Gone if out.found => self.again(out),
                BatchStatus::Gone => {
                    self.end(out, ItemResult::Later(format!("it does not know its batch {id} any more"), None))
                }
                // The batch is not lost: who asks again waits for it again.
                BatchStatus::Unknown(ItemResult::Later(..))
                    if out.unknown.get_or_insert_with(Instant::now).elapsed() < PATIENCE =>
                {
                    self.out.insert(id, out);
                }
                BatchStatus::Unknown(word) => out.waiting.values().for_each(|asked| asked.tell(word.clone())),
            }
        }
        self.next_look = Instant::now() + self.terms.batching.poll;
        // Nobody would end it.
        if self.out.is_empty() {
            self.held = false;
        }
    }

    /// A batch is over, with this word for the questions that have none of their own.
    fn end(&mut self, out: InFlightBatch, word: ItemResult) {
        self.held = false;
        for (question, asked) in out.waiting {
            self.known.remove(&question);
            asked.tell(word.clone());
        }
    }

    /// The questions of a batch that was not asked are sent with others.
    fn again(&mut self, out: InFlightBatch) {
        for (question, asked) in out.waiting {
            self.known.remove(&question);
            self.gather(QueuedItem { at: Instant::now(), ..asked });
        }
    }
}
