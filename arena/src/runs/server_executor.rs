//! Executor that plays the matches of a run on the match plane of this server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ludex_agents::AgentClass;
use ludex_gym::opponents::{Opponent, Pace};
use ludex_play::local::{Participant, PlayedMatch};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{Input, MatchSetup};
use ludex_play::machine::known_answers::KnownAnswers;
use ludex_play::runs::executor::{Executor, MatchJob};
use ludex_protocol::record::{Clock, EndReason, Record};
use ludex_store::{StoreError, StoredMatch};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::Runs;
use super::contest::{RemotePlayer, RunContest};
use super::enrolment::Enrolment;
use super::enrolment_state::EnrolmentState;
use crate::matches::AgentOptions;
use crate::matches::lobby::{PendingMatch, PlannedSeat};

/// Executor for the matches of one run.
pub(super) struct ServerExecutor {
    runs: Arc<Runs>,
    book: Arc<EnrolmentState>,
    /// Clients by the name of their player in the plan. The variants of an agent are players of one client.
    clients: HashMap<String, RemotePlayer>,
    /// Maximum time that a match waits for an absent agent; `None`: without limit.
    grace: Option<Duration>,
    /// True if the matches count for ratings.
    rated: bool,
    /// Measured reply times of the server's agents, by agent name.
    paces: Mutex<HashMap<String, Arc<Pace>>>,
    runtime: Handle,
}

impl Executor for ServerExecutor {
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch> {
        self.runtime.block_on(self.record(order)).unwrap_or_else(|error| {
            tracing::error!(run = self.book.run(), %error, "playing a match of a run failed");
            None
        })
    }
}

impl ServerExecutor {
    pub(super) fn new(
        runs: Arc<Runs>,
        book: Arc<EnrolmentState>,
        kept: &Enrolment,
        contest: &RunContest,
        runtime: Handle,
    ) -> Self {
        let clients = contest.clients(&kept.entrants);
        let grace = kept.cup.as_ref().map(|cup| Duration::from_millis(cup.grace_ms));
        let rated = kept.request.rated;
        ServerExecutor { runs, book, clients, grace, rated, paces: Mutex::default(), runtime }
    }

    /// Plays a match, or resumes an interrupted one.
    async fn record(&self, order: MatchJob<'_>) -> Result<Option<PlayedMatch>, StoreError> {
        let (runs, hub) = (&self.runs, &self.runs.hub);
        let MatchJob { mut setup, players, blameless, mut known, asking } = order;
        for (seat, player) in setup.header.seats.iter_mut().zip(players) {
            if player.spec.class() != AgentClass::Remote {
                *seat = self.opponent(player).record_seat();
            }
        }
        let id = setup.header.episode.clone();
        if runs.is_halted() {
            return Ok(None);
        }
        // The end is received from here on; if the match has already ended, it is in the store.
        let told = runs.wait_for(&id);
        let kept = hub.store.episode(&id).await?;
        let under_way = kept.is_some();
        match kept {
            Some(StoredMatch { end: Some(end), .. }) => {
                runs.on_match_gone(&id);
                let record = serde_json::from_str(&end.record).unwrap_or_else(|_| broken(setup));
                return Ok(Some(played(record)));
            }
            kept if !hub.is_live(&id) => {
                let Some(reason) = self.book.stop() else {
                    let kept = kept.map(Arc::new);
                    let guards =
                        blameless.iter().map(|&blameless| AgentOptions { skips_forced: asking.skip_forced, blameless });
                    let seats = players.iter().zip(guards).zip(&mut known);
                    let seats =
                        seats.map(|((player, guard), known)| self.seat(player, guard, std::mem::take(known))).collect();
                    let limit = asking.limit.unwrap_or(Duration::from_secs(300));
                    let mut setup = terms(setup, limit, self.grace);
                    setup.header.rated &= self.rated;
                    hub.plan(PendingMatch { setup: setup.clone(), seats, kept });
                    // The run may have been stopped just now; then no other match starts.
                    if self.book.stop().is_some() && hub.unplan(&id) {
                        runs.on_match_gone(&id);
                    }
                    return Ok(self.wait(told, setup, players).await);
                };
                // The run ends: started matches are ended, and no others start.
                let Some(kept) = kept else {
                    runs.on_match_gone(&id);
                    return Ok(None);
                };
                tracing::debug!(match_id = id, ?reason, "match ended with its run");
                if let Err(why) = hub.revive(kept).await {
                    tracing::error!(match_id = id, why, "match restore failed");
                    runs.on_match_gone(&id);
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

    /// Waits for the end of a match. In runs with a grace time, an agent that is absent for the grace time loses a
    /// match that has not started.
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
                Err(_) if self.runs.hub.is_live(&id) => {}
                Err(_) => {
                    let away = |p: &&&Participant| {
                        self.clients.get(&p.name).is_some_and(|client| !self.runs.hub.is_here(&client.ticket))
                    };
                    let missing = players.iter().position(|p| away(&p));
                    if let Some(seat) = missing.filter(|_| self.runs.hub.unplan(&id)) {
                        self.runs.on_match_gone(&id);
                        let mut machine = MatchMachine::new(setup, 0);
                        machine.handle(0, Input::Start);
                        machine.handle(0, Input::Absent(seat));
                        return machine.into_record().map(played);
                    }
                }
            }
        }
    }

    fn seat(&self, player: &Participant, guard: AgentOptions, known: KnownAnswers) -> PlannedSeat {
        if player.spec.class() == AgentClass::Remote {
            let RemotePlayer { ticket, variant } = self.clients.get(&player.name).cloned().unwrap_or_default();
            return PlannedSeat::Ticket { ticket, name: player.name.clone(), variant, known };
        }
        let opponent = self.opponent(player);
        // The run may already have wrapped the agent; wrapping it again has no effect.
        let agent = guard.around(opponent.agent.clone());
        PlannedSeat::Agent(Opponent { agent, ..opponent }, guard)
    }

    fn opponent(&self, player: &Participant) -> Opponent {
        let (name, spec) = (player.name.clone(), player.spec.clone());
        let pace = self.paces.lock().entry(name.clone()).or_default().clone();
        Opponent { name, spec, agent: player.agent.clone(), pace }
    }
}

/// Applies the run's clock to a match: `limit` per move while an agent is present, and `grace` while the agent is
/// absent. The seed stays hidden until the run ends.
fn terms(mut setup: MatchSetup, limit: Duration, grace: Option<Duration>) -> MatchSetup {
    setup.header.clock = Clock::per_move(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    setup.grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    setup.release = false;
    setup
}

/// Returns the record of a match that the server failed to play; no player is at fault.
fn broken(setup: MatchSetup) -> Record {
    let mut machine = MatchMachine::new(setup, 0);
    machine.handle(0, Input::Abort(EndReason::InfraError));
    machine.into_record().unwrap_or_default()
}

fn played(record: Record) -> PlayedMatch {
    let failure =
        (record.footer.reason == Some(EndReason::InfraError)).then(|| "the server could not play the match".to_owned());
    PlayedMatch { record, failure }
}
