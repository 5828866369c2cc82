//! Runs that agents play as clients. Agents enroll, play the due matches, may disconnect and resume, and get a report.
//!
//! The records of a run are in a directory, as those of local agents are, and the referee plans and evaluates both in
//! the same way. The run's row in the store holds the request, the entrants and the result. An unfinished match of a
//! run stays in the store while its agent is away.

mod consents;
mod contest;
mod enrol;
mod enrolment;
mod enrolment_state;
mod host;
mod organise;
mod queries;
mod season;
mod server_executor;
mod stored_folder;
#[cfg(test)]
mod tests;

pub use organise::{TournamentEntrant, TournamentRequest, TournamentTicket};

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::record::Record;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::consents::PendingAcceptance;
use self::enrolment::{EnrolledAgent, Enrolment};
use self::host::Host;
use crate::matches::{Hub, RunObserver};
use crate::seasons::Season;

/// Runs of a server.
pub struct Runs {
    /// Match plane that plays the matches.
    pub hub: Arc<Hub>,
    me: Weak<Runs>,
    /// Open runs by name.
    hosts: Mutex<BTreeMap<String, Arc<Host>>>,
    /// Finished runs of seasons that have not ended, by name.
    held: Mutex<BTreeMap<String, Enrolment>>,
    /// Seasons that are not frozen, by suite.
    seasons: Mutex<BTreeMap<String, Vec<Season>>>,
    /// True while changed settings of the seasons have not been applied.
    seasons_changed: AtomicBool,
    /// Senders for runs that wait for the record of a match, by match id.
    waiting: Mutex<HashMap<String, oneshot::Sender<Record>>>,
    /// Acceptances of the consent text by people who have not enrolled yet, by owner; guests share the empty owner.
    consents: Mutex<HashMap<String, PendingAcceptance>>,
    /// True once no more runs may start.
    halted: AtomicBool,
    /// Lock held during an enrolment, so that two agents cannot create the same run.
    enrolling: tokio::sync::Mutex<()>,
    /// Lock held while the folder of a finished run is written.
    writing_folder: tokio::sync::Mutex<()>,
}

impl Runs {
    /// Creates the runs of a match plane. Must be called once, before the match plane restores matches.
    pub fn new(hub: Arc<Hub>) -> Arc<Runs> {
        let runs = Arc::new_cyclic(|me: &Weak<Runs>| Runs {
            hub,
            me: me.clone(),
            hosts: Mutex::default(),
            held: Mutex::default(),
            seasons: Mutex::default(),
            seasons_changed: AtomicBool::new(false),
            waiting: Mutex::default(),
            consents: Mutex::default(),
            halted: AtomicBool::new(false),
            enrolling: tokio::sync::Mutex::default(),
            writing_folder: tokio::sync::Mutex::default(),
        });
        runs.hub.set_run_observer(runs.me.clone());
        runs
    }

    /// Notifies a waiting run that a match is not played. An unfinished match stays in the store.
    fn on_match_gone(&self, id: &str) {
        self.waiting.lock().remove(id);
    }

    /// Stops all runs at shutdown; they continue after the restart.
    pub fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
        self.waiting.lock().clear();
    }

    /// Returns the ids of the matches that a run waits for.
    fn under_way(&self, run: &str) -> Vec<String> {
        self.waiting.lock().keys().filter(|id| is_of(id, run)).cloned().collect()
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

    /// Returns the open run that issued a ticket, and its entrant.
    fn entrant_with(&self, ticket: &str) -> Option<(Arc<Host>, EnrolledAgent)> {
        let issued = |kept: &Enrolment| kept.entrants.iter().find(|e| e.ticket == ticket).cloned();
        self.hosts.lock().values().find_map(|host| Some((host.clone(), host.book.read(issued)?)))
    }
}

/// Returns true if `id` is the id of a match of a run.
fn is_of(id: &str, run: &str) -> bool {
    id.split_once('.').is_some_and(|(of, _)| of == run)
}

impl RunObserver for Runs {
    fn on_start(&self, id: &str) {
        let host = id.split_once('.').and_then(|(run, _)| self.host(run));
        // The run may have been stopped while the start of the match was being stored.
        if let Some(host) = host.filter(|host| host.book.stop().is_some()) {
            host.book.give_up(&self.hub, id);
        }
    }

    fn on_end(&self, record: &Record) {
        let waits = self.waiting.lock().remove(&record.header.episode);
        // If the waiting run has stopped meanwhile, it finds the record in the store.
        waits.into_iter().for_each(|waits| drop(waits.send(record.clone())));
    }

    fn on_removal(&self, id: &str) {
        self.on_match_gone(id);
    }

    fn waits_for_agents(&self, run: &str) -> bool {
        self.host(run).is_some_and(|host| host.book.read(|kept| kept.cup.is_none()))
    }

    fn on_ticket(&self, ticket: &str) {
        if let Some(runs) = self.me.upgrade() {
            let ticket = ticket.to_owned();
            tokio::spawn(async move { runs.ticket_shown(&ticket).await });
        }
    }

    fn seat_of(&self, ticket: &str, agent: &str) -> Option<(String, String)> {
        let (host, entrant) = self.entrant_with(ticket)?;
        (entrant.agent == agent).then(|| (host.run(), entrant.join))
    }

    fn hides(&self, id: &str) -> bool {
        let Some((run, _)) = id.split_once('.') else { return false };
        self.held.lock().contains_key(run) || self.host(run).is_some_and(|host| host.book.read(Enrolment::is_held))
    }

    fn check_visible(&self, id: &str, owner: Option<&str>, admin: bool) -> Result<(), Box<Refusal>> {
        let Some(run) = self.open_run_of(id) else { return Ok(()) };
        // A client without an owner exists only on a server that requires no token.
        if admin || owner.is_none_or(|owner| self.has_entrant_of(run, owner)) {
            return Ok(());
        }
        let message = "expected a token of an owner in the run; the match is open to others when its run ends";
        Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).got(id)))
    }
}
