//! Executor that plays the matches of a run on the match plane of this server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
use crate::sessions::match_handle::MatchCommand;

/// Interval at which a waiting match checks that its agents are present.
const PRESENCE: Duration = Duration::from_millis(250);

/// Executor for the matches of one run.
pub(super) struct ServerExecutor {
    runs: Arc<Runs>,
    book: Arc<EnrolmentState>,
    /// Clients by the name of their player in the plan. The variants of an agent are players of one client.
    clients: HashMap<String, RemotePlayer>,
    /// Maximum time that the matches of an absent agent wait for it; `None`: without limit.
    grace: Option<Duration>,
    /// Times since which agents are absent, by ticket.
    away: Mutex<HashMap<String, Instant>>,
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

    fn is_live(&self, episode: &str) -> bool {
        self.runs.hub.is_live(episode)
    }

    fn slots(&self, player: &str) -> Option<usize> {
        self.clients.get(player).map(|client| client.slots)
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
        let (away, paces) = (Mutex::default(), Mutex::default());
        ServerExecutor { runs, book, clients, grace, away, rated, paces, runtime }
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
        if setup.forfeit.is_some() {
            return Ok(unplayed(setup, None));
        }
        // The end is received from here on; if the match has already ended, it is in the store.
        let told = runs.wait_for(&id);
        let mut kept = hub.store.episode(&id).await?;
        let under_way = kept.is_some();
        if under_way && !hub.is_live(&id) {
            // The match may have been suspended since the read.
            kept = hub.store.episode(&id).await?;
        }
        let guards = blameless.iter().map(|&blameless| AgentOptions { skips_forced: asking.skip_forced, blameless });
        let seats = players.iter().zip(guards).zip(&mut known);
        let seats: Vec<PlannedSeat> =
            seats.map(|((player, guard), known)| self.seat(player, guard, std::mem::take(known))).collect();
        match kept {
            Some(StoredMatch { end: Some(end), .. }) => {
                runs.on_match_gone(&id);
                let record = serde_json::from_str(&end.record).unwrap_or_else(|_| broken(setup));
                return Ok(Some(played(record)));
            }
            kept if !hub.is_live(&id) => {
                let Some(reason) = self.book.stop() else {
                    let kept = kept.map(Arc::new);
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
            _ => {
                // A match that was restored after a restart waits for its agents.
                let agents = seats.into_iter().map(|seat| match seat {
                    PlannedSeat::Agent(opponent) => Some((opponent.agent, opponent.pace)),
                    PlannedSeat::Ticket { .. } => None,
                });
                if let Some(handle) = hub.handle(&id) {
                    handle.send(MatchCommand::Agents(agents.collect()));
                }
            }
        }
        if under_way && self.book.stop().is_some() {
            self.book.give_up(hub, &id);
        }
        Ok(told.await.ok().map(played))
    }

    /// Waits for the end of a match. In runs with a grace time, an agent that has been absent for the grace time loses
    /// each match that has not started.
    async fn wait(
        &self,
        mut told: oneshot::Receiver<Record>,
        setup: MatchSetup,
        players: &[&Participant],
    ) -> Option<PlayedMatch> {
        let Some(grace) = self.grace else { return told.await.ok().map(played) };
        let (hub, id) = (&self.runs.hub, setup.header.episode.clone());
        loop {
            let missing = players.iter().position(|player| self.is_gone(player, grace));
            if let Some(seat) = missing.filter(|_| !hub.is_live(&id) && hub.unplan(&id)) {
                self.runs.on_match_gone(&id);
                return unplayed(setup, Some(seat));
            }
            if let Ok(record) = tokio::time::timeout(PRESENCE, &mut told).await {
                return record.ok().map(played);
            }
        }
    }

    /// Returns true if the agent of a player has been absent for the grace time.
    fn is_gone(&self, player: &Participant, grace: Duration) -> bool {
        let Some(RemotePlayer { ticket, .. }) = self.clients.get(&player.name) else { return false };
        let mut away = self.away.lock();
        if self.runs.hub.is_here(ticket) {
            away.remove(ticket);
            return false;
        }
        away.entry(ticket.clone()).or_insert_with(Instant::now).elapsed() >= grace
    }

    fn seat(&self, player: &Participant, guard: AgentOptions, known: KnownAnswers) -> PlannedSeat {
        if player.spec.class() == AgentClass::Remote {
            let RemotePlayer { ticket, variant, .. } = self.clients.get(&player.name).cloned().unwrap_or_default();
            return PlannedSeat::Ticket { ticket, name: player.name.clone(), variant, known };
        }
        let opponent = self.opponent(player);
        // The run may already have wrapped the agent; wrapping it again has no effect.
        let agent = guard.around(opponent.agent.clone());
        PlannedSeat::Agent(Opponent { agent, ..opponent })
    }

    fn opponent(&self, player: &Participant) -> Opponent {
        let (name, spec) = (player.name.clone(), player.spec.clone());
        let pace = self.paces.lock().entry(name.clone()).or_default().clone();
        Opponent { name, spec, agent: player.agent.clone(), pace }
    }
}

/// Applies the run's clock to a match: `limit` per move while an agent is present, and `grace` in all while it is
/// absent, instead of the limit of the suite. The seed stays hidden until the run ends.
fn terms(mut setup: MatchSetup, limit: Duration, grace: Option<Duration>) -> MatchSetup {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    setup.header.clock = Clock::per_move(ms(limit));
    setup.grace_ms = grace.map(ms).or(setup.grace_ms);
    setup.release = false;
    setup
}

/// Returns the record of a match that is not played: the seat `absent` misses it, or else the seat that forfeits it
/// loses it.
fn unplayed(setup: MatchSetup, absent: Option<usize>) -> Option<PlayedMatch> {
    let mut machine = MatchMachine::new(setup, 0);
    machine.handle(0, Input::Start);
    if let Some(seat) = absent {
        machine.handle(0, Input::Absent(seat));
    }
    machine.into_record().map(played)
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
