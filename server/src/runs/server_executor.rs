//! Plays the matches of a run on the match plane of this server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ludex_agents::AgentClass;
use ludex_play::local::{Participant, PlayedMatch};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{Input, MatchSetup};
use ludex_play::runs::executor::{Executor, MatchJob};
use ludex_protocol::record::{Clock, EndReason, Record};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::enrolment::Enrolment;
use super::enrolment_state::EnrolmentState;
use crate::matches::lobby::{PendingMatch, PlannedSeat};
use crate::matches::{AgentOptions, Hub};
use crate::opponents::{Opponent, Pace};
use crate::store::{StoreError, StoredMatch};

/// See the module.
pub(super) struct ServerExecutor {
    hub: Arc<Hub>,
    book: Arc<EnrolmentState>,
    /// What the joins of the agents show, by their names.
    tickets: HashMap<String, String>,
    /// How long a match waits for an agent that is away; `None`: until it comes back.
    grace: Option<Duration>,
    /// How long the answers of the server's agents take, by their names.
    paces: Mutex<HashMap<String, Arc<Pace>>>,
    runtime: Handle,
}

impl Executor for ServerExecutor {
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch> {
        self.runtime.block_on(self.record(order)).unwrap_or_else(|error| {
            tracing::error!(run = self.book.run(), %error, "a match of a run cannot be played");
            None
        })
    }
}

impl ServerExecutor {
    pub(super) fn new(hub: Arc<Hub>, book: Arc<EnrolmentState>, kept: &Enrolment, runtime: Handle) -> Self {
        let tickets = kept.entrants.iter().map(|e| (e.agent.clone(), e.ticket.clone())).collect();
        let grace = kept.cup.as_ref().map(|cup| Duration::from_millis(cup.grace_ms));
        ServerExecutor { hub, book, tickets, grace, paces: Mutex::default(), runtime }
    }

    /// Plays a match, or takes up one that was interrupted.
    async fn record(&self, order: MatchJob<'_>) -> Result<Option<PlayedMatch>, StoreError> {
        let hub = &self.hub;
        let MatchJob { setup, players, blameless, asking } = order;
        let id = setup.header.episode.clone();
        if hub.runs.is_halted() {
            return Ok(None);
        }
        // From here on its end is heard; if it has ended already, the store has it.
        let told = hub.runs.wait_for(&id);
        let kept = hub.store.episode(&id).await?;
        let under_way = kept.is_some();
        match kept {
            Some(StoredMatch { end: Some(end), .. }) => {
                hub.runs.on_match_gone(&id);
                let record = serde_json::from_str(&end.record).unwrap_or_else(|_| broken(setup));
                return Ok(Some(played(record)));
            }
            kept if !hub.is_live(&id) => {
                let Some(reason) = self.book.stop() else {
                    let kept = kept.map(Arc::new);
                    let guards =
                        blameless.iter().map(|&blameless| AgentOptions { skips_forced: asking.skip_forced, blameless });
                    let seats = players.iter().zip(guards).map(|(player, guard)| self.seat(player, guard)).collect();
                    let limit = asking.limit.unwrap_or(Duration::from_secs(300));
                    let setup = terms(setup, limit, self.grace);
                    hub.plan(PendingMatch { setup: setup.clone(), seats, kept });
                    // The run may have been stopped in this moment: then nothing else begins.
                    if self.book.stop().is_some() && hub.unplan(&id) {
                        hub.runs.on_match_gone(&id);
                    }
                    return Ok(self.wait(told, setup, players).await);
                };
                // The run ends: what was begun is ended, and nothing else begins.
                let Some(kept) = kept else {
                    hub.runs.on_match_gone(&id);
                    return Ok(None);
                };
                tracing::debug!(match_id = id, ?reason, "a match of a run that ends is ended");
                if let Err(why) = hub.revive(kept).await {
                    tracing::error!(match_id = id, why, "a match could not be brought back");
                    hub.runs.on_match_gone(&id);
                    return Ok(Some(played(broken(setup))));
                }
            }
            _ => {}
        }
        if under_way && self.book.stop().is_some() {
            self.book.give_up(hub, &id);
        }
        Ok(told.await.ok().map(played))
    }

    /// The end of a match. Where the run does not wait for agents that are away, a match that cannot begin is lost by the one that is
    /// missing.
    async fn wait(
        &self,
        mut told: oneshot::Receiver<Record>,
        setup: MatchSetup,
        players: &[&Participant],
    ) -> Option<PlayedMatch> {
        let Some(grace) = self.grace else { return told.await.ok().map(played) };
        let id = setup.header.episode.clone();
        loop {
            match tokio::time::timeout(grace, &mut told).await {
                Ok(record) => return record.ok().map(played),
                Err(_) if self.hub.is_live(&id) => {}
                Err(_) => {
                    let away =
                        |p: &&&Participant| self.tickets.get(&p.name).is_some_and(|ticket| !self.hub.is_here(ticket));
                    let missing = players.iter().position(|p| away(&p));
                    if let Some(seat) = missing.filter(|_| self.hub.unplan(&id)) {
                        self.hub.runs.on_match_gone(&id);
                        let mut machine = MatchMachine::new(setup, 0);
                        machine.handle(0, Input::Start);
                        machine.handle(0, Input::Absent(seat));
                        return machine.into_record().map(played);
                    }
                }
            }
        }
    }

    fn seat(&self, player: &Participant, guard: AgentOptions) -> PlannedSeat {
        if player.spec.class() == AgentClass::Remote {
            return PlannedSeat::Ticket(self.tickets.get(&player.name).cloned().unwrap_or_default());
        }
        let pace = self.paces.lock().entry(player.name.clone()).or_default().clone();
        // What the run made of the agent already is done again without harm.
        let agent = guard.around(player.agent.clone());
        let (name, spec) = (player.name.clone(), player.spec.clone());
        PlannedSeat::Agent(Opponent { name, spec, agent, pace }, guard)
    }
}

/// The terms of a match whose agents have this time for a move while they are here, and which waits for them while they
/// are not. Its seed is told when the run is over.
fn terms(mut setup: MatchSetup, limit: Duration, grace: Option<Duration>) -> MatchSetup {
    setup.header.clock = Clock::per_move(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    setup.grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    setup.release = false;
    setup
}

/// The record of a match that the server lost: nobody is to blame.
fn broken(setup: MatchSetup) -> Record {
    let mut machine = MatchMachine::new(setup, 0);
    machine.handle(0, Input::Abort(EndReason::InfraError));
    machine.into_record().unwrap_or_default()
}

fn played(record: Record) -> PlayedMatch {
    let failure =
        (record.footer.reason == Some(EndReason::InfraError)).then(|| "the server could not play it".to_owned());
    PlayedMatch { record, failure }
}
