//! Enrolment of an open run in memory and in the store, and the party at fault for a match that ends with the run.

use ludex_env::Seat;
use ludex_play::machine::interface::Input;
use ludex_protocol::message::RunReason;
use ludex_protocol::record::EndReason;
use ludex_store::{Store, Write};
use parking_lot::Mutex;

use super::enrolment::Enrolment;
use crate::matches::Hub;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Enrolment of an open run.
pub(super) struct EnrolmentState {
    kept: Mutex<Enrolment>,
    /// Lock held during a change, so that changes are stored in order.
    changing: tokio::sync::Mutex<()>,
}

impl EnrolmentState {
    pub(super) fn new(kept: Enrolment) -> Self {
        EnrolmentState { kept: Mutex::new(kept), changing: tokio::sync::Mutex::default() }
    }

    pub(super) fn run(&self) -> String {
        self.kept.lock().run().to_owned()
    }

    pub(super) fn enrolment(&self) -> Enrolment {
        self.kept.lock().clone()
    }

    /// Reads the enrolment without a copy.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Enrolment) -> T) -> T {
        read(&self.kept.lock())
    }

    /// Changes the enrolment once the change is on disk, with `writes` in the same transaction.
    ///
    /// # Errors
    ///
    /// A failed write; the enrolment is then unchanged.
    pub(super) async fn change(
        &self,
        store: &Store,
        mut writes: Vec<Write>,
        change: impl FnOnce(&mut Enrolment),
    ) -> anyhow::Result<()> {
        let _in_order = self.changing.lock().await;
        let mut new = self.enrolment();
        change(&mut new);
        writes.push(Write::Run(new.row()?));
        store.write(writes).await?;
        *self.kept.lock() = new;
        Ok(())
    }

    /// Returns the reason to end the run early, if any.
    pub(super) fn stop(&self) -> Option<RunReason> {
        self.kept.lock().stop.as_ref().map(|stop| stop.reason)
    }

    /// Returns the seat that loses a match because its agent has withdrawn or is absent at the deadline.
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
        // If all agents are present, a run's only agent was too slow; among several, none is at fault.
        away.or_else(|| of(&|name| kept.entrants.len() == 1 && entrant(name).is_some()))
    }

    /// Ends a match because its run ends. The agents at fault resign.
    pub(super) fn give_up(&self, hub: &Hub, id: &str) {
        let Some(handle) = hub.handle(id) else { return };
        let input = match self.to_blame(hub, &handle) {
            Some(seat) => Input::Withdrawn(seat),
            None => Input::Abort(EndReason::InfraError),
        };
        handle.send(MatchCommand::Input(input));
    }
}
