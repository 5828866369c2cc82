//! Runs that agents play as clients: they enrol, play what is due, drop, come back, and get a report.
//!
//! A run is a folder as every run is, and the referee plans and judges it as any other. Beside the run's own files
//! stands `enrolment.json`: what was asked for, who plays, and how it ended. A match of a run that is under way is in the
//! store, like every match, and waits there while its agent is away.

mod contest;
mod enrol;
mod enrolment;
mod enrolment_state;
mod host;
mod organise;
mod queries;
mod season;
mod server_executor;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ludex_protocol::record::Record;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::enrolment::Enrolment;
use self::host::Host;

/// The runs of a server.
#[derive(Default)]
pub(crate) struct Runs {
    /// Those that are not over, by name.
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    /// Those that are over and whose season is not, by name.
    held: Mutex<BTreeMap<String, Enrolment>>,
    /// The secrets of seasons whose deals were shown.
    shown: Mutex<BTreeSet<String>>,
    /// Who waits for the end of a match, by its id.
    waiting: Mutex<HashMap<String, oneshot::Sender<Record>>>,
    /// Nothing begins any more.
    halted: AtomicBool,
    /// Held while an agent enrols, so that two do not begin one run.
    enrolling: tokio::sync::Mutex<()>,
}

impl Runs {
    /// A match is over and durable.
    pub(crate) fn ended(&self, record: &Record) {
        let waits = self.waiting.lock().remove(&record.header.episode);
        // The run that waited may have stopped meanwhile: it finds the record in the store.
        waits.into_iter().for_each(|waits| drop(waits.send(record.clone())));
    }

    /// A match has no task any more. If it is not over, it waits in the store.
    pub(crate) fn on_match_gone(&self, id: &str) {
        self.waiting.lock().remove(id);
    }

    /// The server stops: runs stop too, and continue after the restart.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        self.waiting.lock().clear();
    }

    /// Nobody waits any more for the matches of a run that are not under way.
    pub(crate) fn pause(&self, run: &str, live: impl Fn(&str) -> bool) {
        let of_run = |id: &str| id.strip_prefix(run).is_some_and(|rest| rest.starts_with('.'));
        self.waiting.lock().retain(|id, _| !of_run(id) || live(id));
    }

    /// The matches of a run that somebody waits for.
    fn under_way(&self, run: &str) -> Vec<String> {
        let of_run = |id: &&String| id.strip_prefix(run).is_some_and(|rest| rest.starts_with('.'));
        self.waiting.lock().keys().filter(of_run).cloned().collect()
    }

    fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Waits for the end of a match. The receiver fails if the match is suspended.
    fn wait_for(&self, id: &str) -> oneshot::Receiver<Record> {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().insert(id.to_owned(), tell);
        told
    }

    fn host(&self, run: &str) -> Option<Arc<Host>> {
        self.hosts.lock().get(run).cloned()
    }
}
