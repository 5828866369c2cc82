//! Runs that agents play as clients. Agents enroll, play the due matches, may disconnect and resume, and get a report.
//!
//! A run is stored in a directory, as runs of local agents are, and the referee plans and evaluates both in the same
//! way. In addition, `enrolment.json` holds the request, the entrants and the result. An unfinished match of a run
//! stays in the store while its agent is away.

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

/// Runs of a server.
#[derive(Default)]
pub(crate) struct Runs {
    /// Open runs by name.
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    /// Finished runs of seasons that have not ended, by name.
    held: Mutex<BTreeMap<String, Enrolment>>,
    /// Ids of the secrets of all seasons with public seeds.
    shown: Mutex<BTreeSet<String>>,
    /// Senders for runs that wait for the record of a match, by match id.
    waiting: Mutex<HashMap<String, oneshot::Sender<Record>>>,
    /// True once no more runs may start.
    halted: AtomicBool,
    /// Lock held during an enrolment, so that two agents cannot create the same run.
    enrolling: tokio::sync::Mutex<()>,
}

impl Runs {
    /// Passes the record of an ended match to the run that waits for the match. The end of the match must be durable.
    pub(crate) fn ended(&self, record: &Record) {
        let waits = self.waiting.lock().remove(&record.header.episode);
        // If the waiting run has stopped meanwhile, it finds the record in the store.
        waits.into_iter().for_each(|waits| drop(waits.send(record.clone())));
    }

    /// Notifies a waiting run that a match no longer has a task. An unfinished match stays in the store.
    pub(crate) fn on_match_gone(&self, id: &str) {
        self.waiting.lock().remove(id);
    }

    /// Stops all runs at shutdown; they continue after the restart.
    pub(crate) fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        self.waiting.lock().clear();
    }

    /// Stops waiting for those matches of a run that are not `live`.
    pub(crate) fn pause(&self, run: &str, live: impl Fn(&str) -> bool) {
        let of_run = |id: &str| id.strip_prefix(run).is_some_and(|rest| rest.starts_with('.'));
        self.waiting.lock().retain(|id, _| !of_run(id) || live(id));
    }

    /// Returns the ids of the matches that a run waits for.
    fn under_way(&self, run: &str) -> Vec<String> {
        let of_run = |id: &&String| id.strip_prefix(run).is_some_and(|rest| rest.starts_with('.'));
        self.waiting.lock().keys().filter(of_run).cloned().collect()
    }

    fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }

    /// Returns a receiver for the record of a match. The receiver fails if the match is suspended.
    fn wait_for(&self, id: &str) -> oneshot::Receiver<Record> {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().insert(id.to_owned(), tell);
        told
    }

    fn host(&self, run: &str) -> Option<Arc<Host>> {
        self.hosts.lock().get(run).cloned()
    }
}
