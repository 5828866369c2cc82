//! Start of matches.

use std::sync::Arc;
use std::time::Duration;

use ludex_agents::{Agent, AgentError, wrap};
use ludex_env::{MoveRequest, Scheduler as _};
use ludex_gym::compute::{CurrentJob, JobError};
use ludex_play::header::header;
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{MatchSetup, Output};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{MatchEntry, SeatInfo};
use ludex_protocol::record::Header;
use ludex_referee::digest;
use ludex_store::{StoreError, Write};

use super::{Hub, random, storage_failure};
use crate::matches::event_loop::{NewMatch, NewStart, Origin, agents_of};
use crate::matches::lobby::{ReservedSeed, StartRollback};
use crate::matches::match_row::RowDraft;
use crate::matches::plan::{MatchPlan, MatchTerms, Occupant, RequestedTerms, SeatPlan};
use crate::sessions::match_handle::{MatchCommand, MatchHandle};

/// Interval at which a mirror match checks that its client is present.
const PRESENCE: Duration = Duration::from_millis(100);

impl Hub {
    /// Starts a match. If the start fails, the lobby tries again later.
    pub(in crate::matches) fn begin(self: &Arc<Self>, plan: MatchPlan, begun: Box<StartRollback>) {
        let MatchPlan { seats, terms } = plan;
        let hub = self.clone();
        self.counts(1);
        match terms {
            MatchTerms::Asked(asked) => match self.seed(&asked) {
                Ok(seed) if !asked.mirror => self.begin_requested(asked, seats, seed, Vec::new(), begun),
                // Handled in a task too: a start that failed within this call would be retried immediately.
                drawn => drop(tokio::spawn(async move {
                    let played = async {
                        let seed = drawn?;
                        let mirror = hub.mirror(&asked, &seats, seed.0).await?;
                        Ok::<_, Box<Refusal>>((seed, mirror))
                    };
                    match played.await {
                        Ok((seed, mirror)) => hub.begin_requested(asked, seats, seed, mirror, begun),
                        Err(error) => hub.on_failed_start(&error, *begun),
                    }
                })),
            },
            MatchTerms::Planned(mut setup) => {
                setup.header.started = ludex_play::time::now_text();
                self.launch_new(*setup, seats, 0, None, None, begun);
            }
            MatchTerms::Kept(kept) => {
                let occupants = seats.into_iter().map(|seat| seat.occupant).collect();
                tokio::spawn(async move {
                    if let Err(why) = hub.continue_with(&kept, occupants).await {
                        hub.on_failed_start(&storage_failure(&why), *begun);
                    }
                });
            }
        }
    }

    fn on_failed_start(self: &Arc<Self>, error: &Refusal, begun: StartRollback) {
        match error.code {
            ErrorCode::Internal => tracing::error!(%error, "match start failed"),
            _ => tracing::debug!(%error, "match start failed"),
        }
        self.counts(-1);
        let joins = begun.joins.clone();
        self.lobby.lock().take_back(begun);
        self.try_later(joins);
    }

    /// Starts a match that clients requested. `mirror`: return of each seat in the mirror match, if it was played.
    fn begin_requested(
        self: &Arc<Self>,
        asked: RequestedTerms,
        seats: Vec<SeatPlan>,
        seed: ReservedSeed,
        mirror: Vec<f64>,
        begun: Box<StartRollback>,
    ) {
        let drawn = random::<16>().and_then(|salt| Ok((salt, self.fresh_id('m')?)));
        let (salt, id) = match drawn {
            Ok(drawn) => drawn,
            Err(error) => {
                let hub = self.clone();
                return drop(tokio::spawn(async move { hub.on_failed_start(&error, *begun) }));
            }
        };
        let peeks =
            seats.iter().any(|s| matches!(&s.occupant, Occupant::Agent { agent, .. } if agent.needs_full_state()));
        let flags = [("peek", peeks), ("arranged", asked.arranged)];
        let header =
            Header { rated: asked.rated, clock: asked.clock, ..header(asked.game.spec(), id, &flags, Vec::new()) };
        let setup = MatchSetup {
            release: asked.pair.is_none(),
            grace_ms: Some(self.config.limits.get().grace_ms),
            follows: asked.turn > 0,
            forfeit: asked.forfeit,
            pair: asked.pair,
            mirror,
            ..MatchSetup::new(asked.game, header, seed.0, salt)
        };
        self.launch_new(setup, seats, asked.turn, seed.1, asked.label, begun);
    }

    /// Passes a new match to an event loop. `turn` is the index of the match among the matches of its pair, `drawn` is
    /// the write that reserves its seed, and `label` is the label of its ladder season.
    fn launch_new(
        self: &Arc<Self>,
        mut setup: MatchSetup,
        seats: Vec<SeatPlan>,
        turn: u32,
        drawn: Option<Write>,
        label: Option<String>,
        begun: Box<StartRollback>,
    ) {
        setup.header.seats = seats.iter().map(|s| s.seat.clone()).collect();
        setup.seats = seats.iter().map(|s| s.setup.clone()).collect();
        if setup.joins().len() < setup.seats.iter().filter(|seat| seat.join.is_some()).count() {
            setup.header.flags.push(ludex_referee::result::MULTI_SEAT.to_owned());
        }
        let started_ms = ludex_play::time::epoch_ms();
        let draft = RowDraft { seats: seats.iter().map(Into::into).collect(), turn, label, started_ms };
        let occupants: Vec<Occupant> = seats.into_iter().map(|s| s.occupant).collect();
        let (agents, seated) = agents_of(&occupants);
        let machine = MatchMachine::new(setup, self.now());
        let (hub, pair) = (self.clone(), machine.setup().pair.clone().filter(|_| machine.setup().run.is_none()));
        // The row names the joins of its seats, so that after a crash each join either had this match or the match
        // never existed.
        let on_stored = Box::new(move |handle: &MatchHandle, stored: Result<(), StoreError>| match stored {
            Ok(()) => hub.on_started(handle, &occupants, pair.as_deref()),
            Err(error) => hub.on_failed_start(&storage_failure(&error), *begun),
        });
        let entry = self.entry_of(&machine);
        let origin = Origin::New(Box::new(NewStart { draft, drawn, on_stored }));
        self.loops.launch(NewMatch { machine, agents, origin }, entry, seated);
    }

    /// Seats the clients of a match, once the start of the match is stored or, if its log is not durable, decided.
    fn on_started(&self, handle: &MatchHandle, occupants: &[Occupant], pair: Option<&str>) {
        let entry = handle.entry();
        let id = &entry.match_id;
        if let Some(pair) = pair {
            self.lobby.lock().pairs.on_match_start(pair, id);
        }
        // The names are joined only if the line is logged.
        let seats = || entry.seats.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        tracing::info!(match_id = %id, game = entry.game, seats = seats(), rated = entry.rated, "match started");
        self.metrics.begun.increment(1);
        self.seat_clients(handle, occupants);
    }

    /// Returns the seed of a match: the seed of its pair, or a new one.
    fn seed(&self, asked: &RequestedTerms) -> Result<ReservedSeed, Box<Refusal>> {
        let draw = || -> Result<ReservedSeed, Box<Refusal>> {
            if !asked.rated {
                return Ok((u64::from_be_bytes(random::<8>()?), None));
            }
            let (index, kept) = self.store.number(&self.cell().own("rated")).map_err(|e| storage_failure(&e))?;
            Ok((digest::rated_seed(&self.secret, index), Some(kept)))
        };
        match &asked.pair {
            Some(pair) => self.lobby.lock().pairs.seed(pair, draw),
            None => draw(),
        }
    }

    /// Plays the mirror match and returns the final return of each seat. Empty if no mirror match is requested, or if
    /// it fails. The mirror match is played first, so that no event in the actual match affects it.
    ///
    /// # Errors
    ///
    /// `match_over` if the client leaves meanwhile. When the client is back, the mirror match is played again.
    /// `limit` if the server stops the mirror match because too many jobs are started.
    async fn mirror(&self, asked: &RequestedTerms, seats: &[SeatPlan], seed: u64) -> Result<Vec<f64>, Box<Refusal>> {
        let agent = seats.iter().find_map(|s| match &s.occupant {
            Occupant::Agent { agent, .. } => Some(agent.clone()),
            Occupant::Client(_) | Occupant::Expected => None,
        });
        let client = seats.iter().find_map(|s| s.occupant.session());
        let Some((agent, client)) = agent.zip(client).filter(|_| asked.mirror) else { return Ok(Vec::new()) };
        let game = asked.game.clone();
        let agent: Arc<dyn Agent> = Arc::new(wrap(agent, |agent: &dyn Agent, ask: &MoveRequest<'_>| {
            // A stopped job plays no further moves.
            CurrentJob.pause().map_err(|stopped| AgentError::failed(stopped.to_string()))?;
            agent.act(&ask.with_budget(ask.budget().with_scheduler(Some(&CurrentJob))))
        }));
        let play = move || {
            let seats = game.spec().players as usize;
            ludex_play::play(&game, vec![agent; seats], seed).ok().filter(|played| played.failure.is_none())
        };
        let mut job = self.compute.run(&client.account.name, play).interruptible();
        let played = loop {
            match tokio::time::timeout(PRESENCE, &mut job).await {
                Ok(Err(JobError::Stopped)) => {
                    return Err(Box::new(Refusal::new(ErrorCode::Limit, "server has too many long calls")));
                }
                Ok(played) => break played.ok().flatten(),
                Err(_) if client.connected() => {}
                Err(_) => return Err(Box::new(Refusal::new(ErrorCode::MatchOver, "the client left before the match"))),
            }
        };
        Ok(played.map_or_else(Vec::new, |played| played.record.footer.returns))
    }

    /// Passes a match from the store to an event loop. `rows` is the number of its log rows, and `first` holds the outputs
    /// to deliver at the start.
    pub(super) fn launch_stored(
        &self,
        machine: MatchMachine,
        occupants: &[Occupant],
        rows: u64,
        first: Vec<Output>,
    ) -> MatchHandle {
        let (agents, seated) = agents_of(occupants);
        let (entry, over) = (self.entry_of(&machine), machine.is_over());
        let handle =
            self.loops.launch(NewMatch { machine, agents, origin: Origin::Stored { rows, first } }, entry, seated);
        self.seat_clients(&handle, occupants);
        let id = &handle.entry().match_id;
        if over {
            self.remove_later(id);
        } else if let Some(runs) = self.runs() {
            runs.on_start(id);
        }
        handle
    }

    /// Lists a match, and attaches its connected clients.
    fn seat_clients(&self, handle: &MatchHandle, occupants: &[Occupant]) {
        let id = &handle.entry().match_id;
        self.live.lock().insert(id.clone(), handle.clone());
        for (seat, session) in occupants.iter().enumerate().filter_map(|(seat, o)| Some((seat, o.session()?))) {
            session.take_seat(id, handle, seat);
            // A session that has ended meanwhile could not suspend the match.
            if self.sessions.get(&session.id).is_none() {
                handle.send(MatchCommand::Suspend);
            }
        }
        if !handle.live() {
            handle.holders().iter().for_each(|session| session.ended(id));
        }
    }

    fn entry_of(&self, machine: &MatchMachine) -> MatchEntry {
        let header = machine.header();
        let seats = header.seats.iter();
        let seats = seats.map(|s| SeatInfo { name: s.name.clone(), version: s.version.clone(), kind: s.kind });
        MatchEntry {
            match_id: header.episode.clone(),
            game: machine.setup().game.spec().string.clone(),
            seats: seats.collect(),
            rated: header.rated,
            started_ms: self.now(),
        }
    }
}
