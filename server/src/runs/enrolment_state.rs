//! The enrolment of a run in memory and on disk, and who is to blame for a match that it ends.

use std::path::Path;

use ludex_env::Seat;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::RunReason;
use ludex_protocol::record::EndReason;
use parking_lot::Mutex;

use super::enrolment::Enrolment;
use crate::matches::Hub;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// The enrolment of a run that is not over.
pub(super) struct EnrolmentState {
    kept: Mutex<Enrolment>,
}

impl EnrolmentState {
    pub(super) fn new(kept: Enrolment) -> Self {
        EnrolmentState { kept: Mutex::new(kept) }
    }

    pub(super) fn run(&self) -> String {
        self.kept.lock().run().to_owned()
    }

    pub(super) fn enrolment(&self) -> Enrolment {
        self.kept.lock().clone()
    }

    /// Changes the enrolment and writes it down.
    ///
    /// # Errors
    /// It cannot be written: then nothing has changed.
    pub(super) fn change(&self, data: &Path, change: impl FnOnce(&mut Enrolment)) -> anyhow::Result<()> {
        let mut kept = self.kept.lock();
        let mut new = kept.clone();
        change(&mut new);
        new.keep(data)?;
        *kept = new;
        Ok(())
    }

    /// Why the run must end before it is done, if it must.
    pub(super) fn stop(&self) -> Option<RunReason> {
        self.kept.lock().stop.as_ref().map(|stop| stop.reason)
    }

    /// The seat that loses a match because its agent withdrew, or is away when the time is over.
    pub(super) fn to_blame(&self, hub: &Hub, handle: &MatchHandle) -> Option<Seat> {
        let kept = self.kept.lock();
        let stop = kept.stop.as_ref()?;
        let of = |test: &dyn Fn(&str) -> bool| {
            let seats = handle.entry().seats.iter();
            seats.enumerate().find(|(_, seat)| test(&seat.name)).map(|(seat, _)| seat)
        };
        if let Some(agent) = &stop.agent {
            return of(&|name| name == agent);
        }
        let entrant = |name: &str| kept.entrants.iter().find(|e| e.agent == name);
        let away = of(&|name| entrant(name).is_some_and(|e| !hub.is_here(&e.ticket)));
        // If all are here, a single agent was too slow. Of several, nobody is to blame.
        away.or_else(|| of(&|name| kept.entrants.len() == 1 && entrant(name).is_some()))
    }

    /// Ends a match of a run that ends: the agents that are to blame give up.
    pub(super) fn give_up(&self, hub: &Hub, id: &str) {
        let Some(handle) = hub.handle(id) else { return };
        let input = match self.to_blame(hub, &handle) {
            Some(seat) => Input::Withdrawn(seat),
            None => Input::Abort(EndReason::InfraError),
        };
        handle.send(MatchCommand::Input(input));
    }
}
