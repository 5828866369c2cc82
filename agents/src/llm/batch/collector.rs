//! Thread that collects requests, submits them in batches, and polls the submitted batches.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::batch_api::{BatchApi, BatchStatus};
use super::{CollectorSettings, ItemResult, QueuedItem, anthropic, batch_log, openai};
use crate::llm::settings::Api;

/// Maximum total size of the request bodies in a batch, in bytes: half the limit of the stricter provider.
const BYTES: usize = 100 << 20;
/// Bytes that each request adds to a batch, not counting the request's body.
const AROUND: usize = 120;
/// Age after which an unfinished batch is abandoned. Providers end batches after 24 hours.
const LONGEST: Duration = Duration::from_secs(26 * 3600);
/// Maximum time for which the status of a batch may be unavailable.
const PATIENCE: Duration = Duration::from_secs(300);

/// Collector of the batched requests to one endpoint.
pub(super) struct BatchCollector {
    settings: CollectorSettings,
    wire: BatchApi,
    queue: mpsc::Receiver<QueuedItem>,
    /// Requests that have not been submitted yet, oldest first.
    unsent: Vec<QueuedItem>,
    /// Arrival time of the newest unsubmitted request.
    newest: Option<Instant>,
    /// Submitted batches without results, by batch id.
    in_flight: BTreeMap<String, InFlightBatch>,
    /// Batch ids of submitted requests without a reply, by request id.
    batch_of: HashMap<String, String>,
    /// Directories whose batch log has been read.
    log_dirs: HashSet<PathBuf>,
    /// True while submission is paused because the provider's queue limit was reached. The pause ends when a batch
    /// ends.
    is_backlogged: bool,
    next_poll: Instant,
}

struct InFlightBatch {
    waiting: HashMap<String, QueuedItem>,
    since: Instant,
    /// True if the batch was found in a log of an earlier process.
    found: bool,
    /// Time since which the status of the batch has been unavailable.
    unknown: Option<Instant>,
}

impl InFlightBatch {
    fn new(found: bool) -> Self {
        InFlightBatch { waiting: HashMap::new(), since: Instant::now(), found, unknown: None }
    }
}

impl BatchCollector {
    pub(super) fn new(settings: CollectorSettings, key: Option<String>, queue: mpsc::Receiver<QueuedItem>) -> Self {
        BatchCollector {
            wire: BatchApi::new(settings.clone(), key),
            settings,
            queue,
            unsent: Vec::new(),
            newest: None,
            in_flight: BTreeMap::new(),
            batch_of: HashMap::new(),
            log_dirs: HashSet::new(),
            is_backlogged: false,
            next_poll: Instant::now(),
        }
    }

    /// Runs until all senders to the request queue are dropped.
    pub(super) fn run(mut self) {
        loop {
            let received = match self.due() {
                None => self.queue.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                Some(due) => self.queue.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match received {
                Ok(queued) => self.take(queued),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(queued) = self.queue.try_recv() {
                self.take(queued);
            }
            self.send();
            if !self.in_flight.is_empty() && self.next_poll <= Instant::now() {
                self.poll_batches();
            }
        }
    }

    /// Returns the time of the next submission or poll, assuming that no request arrives before then.
    fn due(&self) -> Option<Instant> {
        let send = self.newest.filter(|_| !self.is_backlogged).map(|newest| newest + self.settings.batching.wait);
        let poll = (!self.in_flight.is_empty()).then_some(self.next_poll);
        send.into_iter().chain(poll).min()
    }

    /// Accepts a request: attaches it to the batch that already contains it, or queues it for the next batch.
    fn take(&mut self, queued: QueuedItem) {
        if let Some(folder) = &queued.item.folder
            && self.log_dirs.insert(folder.clone())
        {
            self.batch_of.extend(batch_log::read(folder, &self.settings));
        }
        let id = queued.item.id.clone();
        match self.batch_of.get(&id) {
            Some(batch) => {
                if self.in_flight.is_empty() {
                    // More requests of this batch may follow shortly.
                    self.next_poll = queued.at + self.settings.batching.wait.min(self.settings.batching.poll);
                }
                self.in_flight
                    .entry(batch.clone())
                    .or_insert_with(|| InFlightBatch::new(true))
                    .waiting
                    .insert(id, queued);
            }
            None => self.enqueue(queued),
        }
    }

    fn enqueue(&mut self, queued: QueuedItem) {
        // A repeated request means that the first caller has left.
        self.unsent.retain(|other| other.item.id != queued.item.id);
        self.newest = self.newest.max(Some(queued.at));
        self.unsent.push(queued);
    }

    /// Submits full batches. If no request has arrived for the configured time, also submits the remaining requests.
    fn send(&mut self) {
        while !self.is_backlogged {
            let quiet = self.newest.is_some_and(|newest| newest + self.settings.batching.wait <= Instant::now());
            let (n, full) = self.next_batch();
            if n == 0 || !(quiet || full) {
                return;
            }
            let items: Vec<QueuedItem> = self.unsent.drain(..n).collect();
            if self.unsent.is_empty() {
                self.newest = None;
            }
            match self.create(&items) {
                Ok(batch) => self.track(batch, items),
                Err(result) => items.iter().for_each(|queued| queued.complete(result.clone())),
            }
        }
    }

    /// Returns the number of requests that fit into the next batch, and true if that batch is full.
    fn next_batch(&self) -> (usize, bool) {
        let (mut n, mut bytes) = (0, 0);
        for queued in &self.unsent {
            bytes += queued.body.len() + AROUND;
            if n > 0 && bytes > BYTES {
                return (n, true);
            }
            n += 1;
            if n == self.settings.batching.size {
                return (n, true);
            }
        }
        (n, false)
    }

    fn create(&self, items: &[QueuedItem]) -> Result<String, ItemResult> {
        match self.settings.api {
            Api::OpenAi => openai::create(&self.wire, items),
            Api::Anthropic => anthropic::create(&self.wire, items),
        }
    }

    fn track(&mut self, batch: String, items: Vec<QueuedItem>) {
        // If the disk is full, storing the replies fails too and reports it.
        let _ = batch_log::append(&self.settings, &batch, &items);
        if self.in_flight.is_empty() {
            self.next_poll = Instant::now() + self.settings.batching.poll;
        }
        let out = self.in_flight.entry(batch.clone()).or_insert_with(|| InFlightBatch::new(false));
        for queued in items {
            self.batch_of.insert(queued.item.id.clone(), batch.clone());
            out.waiting.insert(queued.item.id.clone(), queued);
        }
    }

    /// Polls the status of every batch in flight.
    fn poll_batches(&mut self) {
        let all = std::mem::take(&mut self.in_flight);
        let mut left = all.len();
        for (id, mut out) in all {
            left -= 1;
            let status = match self.settings.api {
                Api::OpenAi => openai::poll_batch(&self.wire, &id),
                Api::Anthropic => anthropic::poll_batch(&self.wire, &id),
            };
            match status {
                BatchStatus::Running if out.since.elapsed() < LONGEST => {
                    out.unknown = None;
                    self.in_flight.insert(id, out);
                }
                BatchStatus::Running => {
                    let hours = LONGEST.as_secs() / 3600;
                    self.end(out, ItemResult::Later(format!("batch {id} did not finish within {hours} hours"), None));
                }
                BatchStatus::Ended(results) => {
                    for (item, result) in results {
                        if let Some(queued) = out.waiting.remove(&item) {
                            self.batch_of.remove(&item);
                            queued.complete(result);
                        }
                    }
                    self.end(out, ItemResult::Later(format!("batch {id} ended without a reply to this request"), None));
                }
                BatchStatus::Failed(result) => self.end(out, result),
                BatchStatus::Full(why) if left == 0 && self.in_flight.is_empty() => {
                    self.end(out, ItemResult::Later(format!("{why}. Try a smaller batch_size"), None));
                }
                BatchStatus::Full(_) => {
                    self.requeue(out);
                    self.is_backlogged = true;
                }
                BatchStatus::Gone if out.found => self.requeue(out),
                BatchStatus::Gone => {
                    self.end(out, ItemResult::Later(format!("the provider no longer knows batch {id}"), None))
                }
                // The batch is not lost: a repeated request joins it again.
                BatchStatus::Unknown(ItemResult::Later(..))
                    if out.unknown.get_or_insert_with(Instant::now).elapsed() < PATIENCE =>
                {
                    self.in_flight.insert(id, out);
                }
                BatchStatus::Unknown(result) => out.waiting.values().for_each(|queued| queued.complete(result.clone())),
            }
        }
        self.next_poll = Instant::now() + self.settings.batching.poll;
        // With no batch in flight, nothing would lift the pause.
        if self.in_flight.is_empty() {
            self.is_backlogged = false;
        }
    }

    /// Ends a batch. Requests that are still waiting get `result`.
    fn end(&mut self, out: InFlightBatch, result: ItemResult) {
        self.is_backlogged = false;
        for (item, queued) in out.waiting {
            self.batch_of.remove(&item);
            queued.complete(result.clone());
        }
    }

    /// Puts the requests of a rejected or lost batch back into the queue.
    fn requeue(&mut self, out: InFlightBatch) {
        for (item, queued) in out.waiting {
            self.batch_of.remove(&item);
            self.enqueue(QueuedItem { at: Instant::now(), ..queued });
        }
    }
}
