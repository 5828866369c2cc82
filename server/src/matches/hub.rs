//! Shared state of the match plane: running matches, sessions, the lobby, the store and the clock.

mod queries;
mod replay_view;
mod restore;

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use ludex_agents::{Agent, AgentError, wrap};
use ludex_env::{GameRef, MoveRequest, Scheduler as _};
use ludex_play::header::header;
use ludex_play::local::{auto_play_forced, faults_as_infra};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{Input, MatchSetup, Output, SeatSetup};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::limits::Limits;
use ludex_protocol::message::{MatchEntry, SeatInfo};
use ludex_protocol::record::{Clock, EndReason, Header, RecordSeat};
use ludex_referee::digest;
use ludex_referee::suite::starts::Excerpt;
use tokio::sync::{mpsc, oneshot};

pub(crate) use self::replay_view::MatchReplay;
use self::restore::EndedBeforeRestart;
use super::actor::Actor;
use super::lobby::{Lobby, ReservedSeed};
use crate::catalogue::Catalogue;
use crate::compute::{Compute, CurrentJob, JobError};
use crate::config::{Humans, PairMode};
use crate::metrics::{Metrics, word};
use crate::opponents::{Opponents, Pace};
use crate::random::random_bytes;
use crate::runs::Runs;
use crate::seasons::SuiteSeasons;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};
use crate::sessions::{Session, Sessions};
use crate::standing_ladders::StandingLadder;
use crate::store::{EndRow, MatchRow, SeatRow, Store, StoreError, StoredMatch, Write, text};
use crate::suites::Suites;

/// Operator settings of the match plane.
#[derive(Clone)]
pub struct HubConfig {
    /// Limits announced to clients.
    pub limits: Limits,
    pub catalogue: Arc<Catalogue>,
    /// Agents that clients may seat.
    pub opponents: Opponents,
    /// Pairing mode for joins that do not set one.
    pub pairs: PairMode,
    /// Rating mode for matches of people.
    pub humans: Humans,
    /// Directory of the runs.
    pub data: PathBuf,
    /// Suites in which agents may enroll.
    pub suites: Suites,
    /// Maximum duration of a run, from its first enrolment.
    pub run_time: Duration,
    pub seasons: Vec<SuiteSeasons>,
    pub(crate) ladders: Vec<Arc<StandingLadder>>,
}

/// Match plane of one server.
pub struct Hub {
    pub config: HubConfig,
    pub store: Store,
    /// Pool in which agents compute.
    pub compute: Compute,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sessions: Sessions,
    started: tokio::time::Instant,
    secret: [u8; 32],
    /// Matches that have a task: running matches, and ended matches that still serve requests.
    live: Mutex<HashMap<String, MatchHandle>>,
    /// Ended matches with the times of their removal, in order.
    ended: Mutex<VecDeque<(u64, String)>>,
    /// Number of running and starting matches.
    running: AtomicIsize,
    pub(super) lobby: Mutex<Lobby>,
    late: Mutex<EndedBeforeRestart>,
    /// Lock that is held while the matches of a session are restored.
    recalls: tokio::sync::Mutex<()>,
    draining: AtomicBool,
    pub(crate) runs: Runs,
    /// Number of releases of matches so far.
    releases: AtomicU64,
}

/// Seat of a match that is about to start.
pub(super) struct SeatPlan {
    /// Entry in the record header, which is public.
    pub(super) seat: RecordSeat,
    pub(super) setup: SeatSetup,
    pub(super) guard: AgentOptions,
    pub(super) occupant: Occupant,
}

/// Options for a server agent in a match of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentOptions {
    /// True if the agent's only legal move is played for it.
    #[serde(default)]
    pub skips_forced: bool,
    /// True if failures of the agent count as faults of the server.
    #[serde(default)]
    pub blameless: bool,
}

impl AgentOptions {
    /// Wraps an agent to apply the options.
    pub fn around(self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        let agent = if self.blameless { faults_as_infra(agent) } else { agent };
        if self.skips_forced { auto_play_forced(agent) } else { agent }
    }

    fn is_default(&self) -> bool {
        *self == AgentOptions::default()
    }
}

/// Player of a seat.
pub(super) enum Occupant {
    Client(Arc<Session>),
    Agent {
        agent: Arc<dyn Agent>,
        /// Complete spec, which may be private.
        spec: String,
        pace: Arc<Pace>,
    },
}

impl Occupant {
    fn session(&self) -> Option<&Arc<Session>> {
        match self {
            Occupant::Client(session) => Some(session),
            Occupant::Agent { .. } => None,
        }
    }
}

/// Match that is about to start.
pub(super) struct MatchPlan {
    pub(super) seats: Vec<SeatPlan>,
    pub(super) terms: MatchTerms,
}

/// Settings of a match that is about to start.
pub(super) enum MatchTerms {
    /// Match that clients requested.
    Asked(RequestedTerms),
    /// Match planned by a run.
    Planned(Box<MatchSetup>),
    /// Match that resumes after an interruption.
    Kept(Arc<StoredMatch>),
}

/// Settings of a match that clients requested.
pub(super) struct RequestedTerms {
    pub(super) game: GameRef,
    pub(super) rated: bool,
    pub(super) clock: Clock,
    pub(super) pair: Option<String>,
    /// Index of the match among the matches of its pair, from 0.
    pub(super) turn: u32,
    /// True if the server also plays a mirror match: a match with the same seed, in which its agent plays every seat.
    pub(super) mirror: bool,
    /// True if the clients may have agreed to play each other.
    pub(super) arranged: bool,
    /// Label of the ladder season that the match belongs to.
    pub(super) label: Option<String>,
}

/// Data of a running match that become public at its release.
#[derive(Serialize, Deserialize)]
struct Secret {
    seed: String,
    salt: String,
    skip_forced: bool,
    release: bool,
    seats: Vec<SecretSeat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pair: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// Index of the match among the matches of its pair, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    turn: u32,
    /// Returns of the mirror match, by seat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mirror: Vec<f64>,
    /// Part of the game that is played, if not the whole game.
    #[serde(default, skip_serializing_if = "Excerpt::is_whole")]
    excerpt: Excerpt,
}

fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

#[derive(Serialize, Deserialize)]
struct SecretSeat {
    setup: SeatSetup,
    /// Owner of the token of the first session that had this seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Complete spec of the server agent on this seat, if the header does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    /// Options for the server agent on this seat.
    #[serde(default, skip_serializing_if = "AgentOptions::is_default")]
    guard: AgentOptions,
}

/// Logs a failed write and returns the refusal for the client.
pub(crate) fn storage_failure(error: &dyn Display) -> Box<Refusal> {
    tracing::error!(%error, "store write failed");
    Box::new(Refusal::new(ErrorCode::Internal, "storing the request failed; try again later"))
}

/// Interval at which ended matches are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// Interval at which a mirror match checks that its client is present.
const PRESENCE: Duration = Duration::from_millis(100);

/// Returns random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Box<Refusal>> {
    random_bytes::<N>().map_err(|error| {
        tracing::error!(%error, "random number generation failed");
        Box::new(Refusal::new(ErrorCode::Internal, "the server cannot generate random numbers; try again later"))
    })
}

/// Returns a new id: `letter`, `_` and 12 random hex digits.
pub(crate) fn fresh_id(letter: char) -> Result<String, Box<Refusal>> {
    Ok(format!("{letter}_{}", hex::encode(random::<6>()?)))
}

impl Hub {
    /// Creates the match plane of a store. Must be called before any client connects.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(crate) async fn new(
        store: Store,
        config: HubConfig,
        compute: Compute,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Hub>, StoreError> {
        let secret = store.secret("rated").await?;
        Ok(Arc::new(Hub {
            config,
            store,
            compute,
            metrics,
            sessions: Sessions::default(),
            started: tokio::time::Instant::now(),
            secret,
            live: Mutex::default(),
            ended: Mutex::default(),
            running: AtomicIsize::new(0),
            lobby: Mutex::default(),
            late: Mutex::default(),
            recalls: tokio::sync::Mutex::default(),
            draining: AtomicBool::new(false),
            runs: Runs::default(),
            releases: AtomicU64::new(0),
        }))
    }

    /// Returns the time in milliseconds since the server started, on which all match times are based.
    pub fn now(&self) -> u64 {
        self.at(tokio::time::Instant::now())
    }

    /// Converts an instant to milliseconds since the server started.
    pub(crate) fn at(&self, at: tokio::time::Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }

    /// Refuses new matches from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.runs.halt();
    }

    /// Returns true if the server is shutting down.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Returns the number of running and starting matches.
    pub fn live_matches(&self) -> usize {
        self.running.load(Ordering::Relaxed).max(0).unsigned_abs()
    }

    pub(super) fn counts(&self, change: isize) {
        self.running.fetch_add(change, Ordering::Relaxed);
    }

    pub(crate) fn handle(&self, id: &str) -> Option<MatchHandle> {
        self.live.lock().get(id).cloned()
    }

    /// Returns true if the match is running.
    pub(crate) fn is_live(&self, id: &str) -> bool {
        self.handle(id).is_some_and(|handle| handle.live())
    }

    // ---- sessions -------------------------------------------------------------------------------------------------

    /// Returns the time for which a lost session can be resumed.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.config.limits.grace_ms)
    }

    /// Ends a session without a connection after `time`, unless the session resumes before. `number` identifies this
    /// wait: if the session resumes and is disconnected again, the new wait has another number.
    pub(crate) fn wait_for(self: &Arc<Self>, session: Arc<Session>, number: u64, time: Duration) {
        let hub = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            if hub.sessions.expire(&session, number) {
                hub.session_over(&session, "away").await;
            }
        });
    }

    /// Ends a session permanently for the reason `why`. During shutdown, the session stays in the store, since it may
    /// resume after the restart.
    pub(crate) async fn session_over(self: &Arc<Self>, session: &Session, why: &str) {
        if self.draining() {
            return;
        }
        tracing::info!(session = %session.id, agent = session.name(), why, "session ended");
        // Matches of runs stay in the store until the agent returns.
        for (handle, _) in session.seats() {
            handle.send(MatchCommand::Suspend);
        }
        self.dismiss(session).await;
        self.late.lock().forget(&session.id);
        if let Err(error) = self.store.write_behind(vec![Write::SessionGone { id: session.id.clone() }]).await {
            tracing::debug!(%error, "storing the end of a session failed");
        }
    }

    /// Cancels the matches of a session that have not started. Its running matches continue.
    pub(crate) async fn dismiss(self: &Arc<Self>, session: &Session) {
        let joins = self.drop_joins(&session.id);
        self.joins_gone(joins).await;
        self.seat();
    }

    /// Stores a session's client and resume key. If the session has something `at_stake`, waits until the key is
    /// durable, since the client could not resume after a crash without it. Otherwise, the write is asynchronous.
    pub(crate) async fn keep_session(&self, session: &Session, at_stake: bool) {
        let expires_ms = ludex_play::time::epoch_ms().saturating_add(self.config.limits.grace_ms as i64);
        let kept = match session.row(expires_ms) {
            Ok(row) if at_stake => self.store.write(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Ok(row) => self.store.write_behind(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = kept {
            tracing::error!(session = %session.id, %error, "storing a session failed");
        }
    }

    // ---- matches --------------------------------------------------------------------------------------------------

    /// Starts a match. Its row is stored before any client is notified.
    pub(super) async fn begin(self: &Arc<Self>, plan: MatchPlan) -> Result<(), Box<Refusal>> {
        let MatchPlan { seats, terms } = plan;
        match terms {
            MatchTerms::Asked(asked) => {
                let turn = asked.turn;
                let (setup, drawn) = self.setup(&asked, &seats).await?;
                self.start(setup, seats, turn, drawn, asked.label).await
            }
            MatchTerms::Planned(mut setup) => {
                setup.header.started = ludex_play::time::now_text();
                self.start(*setup, seats, 0, None, None).await
            }
            MatchTerms::Kept(kept) => {
                let occupants = seats.into_iter().map(|seat| seat.occupant).collect();
                self.continue_with(&kept, occupants).await.map_err(|why| storage_failure(&why))
            }
        }
    }

    /// Returns the setup of a match, and the write that reserves its seed.
    async fn setup(
        self: &Arc<Self>,
        asked: &RequestedTerms,
        seats: &[SeatPlan],
    ) -> Result<(MatchSetup, Option<Write>), Box<Refusal>> {
        let salt = random::<16>()?;
        let (seed, drawn) = self.seed(asked)?;
        let mirror = self.mirror(asked, seats, seed).await?;
        let peeks =
            seats.iter().any(|s| matches!(&s.occupant, Occupant::Agent { agent, .. } if agent.needs_full_state()));
        let flags = [("peek", peeks), ("arranged", asked.arranged)];
        let header = Header {
            rated: asked.rated,
            clock: asked.clock.clone(),
            ..header(asked.game.spec(), fresh_id('m')?, &flags, Vec::new())
        };
        let setup = MatchSetup {
            release: asked.pair.is_none(),
            grace_ms: Some(self.config.limits.grace_ms),
            pair: asked.pair.clone(),
            mirror,
            ..MatchSetup::new(asked.game.clone(), header, seed, salt)
        };
        Ok((setup, drawn))
    }

    /// Starts a match with these seats. `turn` is its index among the matches of its pair.
    async fn start(
        self: &Arc<Self>,
        mut setup: MatchSetup,
        seats: Vec<SeatPlan>,
        turn: u32,
        drawn: Option<Write>,
        label: Option<String>,
    ) -> Result<(), Box<Refusal>> {
        setup.header.seats = seats.iter().map(|s| s.seat.clone()).collect();
        setup.seats = seats.iter().map(|s| s.setup.clone()).collect();
        let id = setup.header.episode.clone();
        let secret_seat = |s: &SeatPlan| {
            let owner = s.occupant.session().and_then(|session| session.about.owner.clone());
            let spec = match &s.occupant {
                Occupant::Agent { spec, .. } if s.seat.spec.as_ref() != Some(spec) => Some(spec.clone()),
                _ => None,
            };
            SecretSeat { setup: s.setup.clone(), owner, spec, guard: s.guard }
        };
        let seat_row = |s: &SeatPlan| {
            let session = s.occupant.session().map(|session| session.id.clone());
            SeatRow { agent: s.seat.name.clone(), session, join: s.setup.join.clone() }
        };
        let secret = Secret {
            seed: setup.seed.to_string(),
            salt: hex::encode(setup.salt),
            skip_forced: setup.skip_forced,
            release: setup.release,
            seats: seats.iter().map(secret_seat).collect(),
            pair: setup.pair.clone(),
            run: setup.run.clone(),
            turn,
            mirror: setup.mirror.clone(),
            excerpt: setup.excerpt.clone(),
        };
        let spec = setup.game.spec();
        let row = MatchRow {
            id: id.clone(),
            game: spec.game.clone(),
            string: spec.string.clone(),
            rated: setup.header.rated,
            run: setup.run.clone().or(label),
            seats: seats.iter().map(seat_row).collect(),
            header: text(&setup.header).map_err(|e| storage_failure(&e))?,
            secret: text(&secret).map_err(|e| storage_failure(&e))?,
            started_ms: ludex_play::time::epoch_ms(),
        };
        // The row names the joins of its seats, so that after a crash each join either had this match or the match
        // never existed.
        self.store
            .write(drawn.into_iter().chain([Write::MatchStart(row)]).collect())
            .await
            .map_err(|e| storage_failure(&e))?;
        if let Some(pair) = setup.pair.as_deref().filter(|_| setup.run.is_none()) {
            self.lobby.lock().pairs.on_match_start(pair, &id);
        }
        let names: Vec<_> = seats.iter().map(|s| s.seat.name.as_str()).collect();
        tracing::info!(match_id = %id, game = spec.string, seats = names.join(", "), rated = setup.header.rated, "match started");
        self.metrics.begun.increment(1);
        let occupants = seats.into_iter().map(|s| s.occupant).collect();
        let machine = MatchMachine::new(setup, self.now());
        let handle = self.launch(machine, occupants, 0, Vec::new());
        handle.send(MatchCommand::Input(Input::Start));
        Ok(())
    }

    /// Returns the seed of a match: the seed of its pair, or a new one.
    fn seed(&self, asked: &RequestedTerms) -> Result<ReservedSeed, Box<Refusal>> {
        let draw = || -> Result<ReservedSeed, Box<Refusal>> {
            if !asked.rated {
                return Ok((u64::from_be_bytes(random::<8>()?), None));
            }
            let (index, kept) = self.store.number("rated").map_err(|e| storage_failure(&e))?;
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
            Occupant::Client(_) => None,
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

    /// Starts the task of a match and attaches the connected clients. `first` holds the outputs to deliver at the
    /// start.
    fn launch(
        self: &Arc<Self>,
        machine: MatchMachine,
        occupants: Vec<Occupant>,
        rows: u64,
        first: Vec<Output>,
    ) -> MatchHandle {
        let h = machine.header();
        let id = h.episode.clone();
        let seats = h.seats.iter().map(|s| SeatInfo { name: s.name.clone(), version: s.version.clone(), kind: s.kind });
        let entry = MatchEntry {
            match_id: id.clone(),
            game: machine.setup().game.spec().string.clone(),
            seats: seats.collect(),
            rated: h.rated,
            started_ms: self.now(),
        };
        let (tx, rx) = mpsc::unbounded_channel();
        let seated = occupants.iter().map(|o| o.session().map(|session| session.id.clone())).collect();
        let handle = MatchHandle::new(tx, entry, seated, machine.is_over());
        self.live.lock().insert(id.clone(), handle.clone());
        let mut agents = Vec::with_capacity(occupants.len());
        for (seat, occupant) in occupants.into_iter().enumerate() {
            match occupant {
                Occupant::Agent { agent, pace, .. } => agents.push(Some((agent, pace))),
                Occupant::Client(session) => {
                    session.take_seat(&id, &handle, seat);
                    if machine.is_over() {
                        session.ended(&id);
                    }
                    agents.push(None);
                }
            }
        }
        let actor = Box::new(Actor::new(self.clone(), machine, handle.clone(), agents, rows));
        tokio::spawn(self.clone().drive(actor, rx, first));
        handle
    }

    /// Runs the task of a match, and ends the match if the task panics.
    pub(super) async fn drive(
        self: Arc<Self>,
        actor: Box<Actor>,
        rx: mpsc::UnboundedReceiver<Box<MatchCommand>>,
        first: Vec<Output>,
    ) {
        let id = actor.id().to_owned();
        if AssertUnwindSafe(actor.run(rx, first)).catch_unwind().await.is_err() {
            tracing::error!(match_id = %id, "match task panicked");
            self.end(&id);
            self.forget(&id);
            if let Err(error) = self.abandon(&id, "the server failed").await {
                tracing::error!(match_id = %id, %error, "storing the end of a match failed");
            }
        }
    }

    /// Schedules the removal of a match that has ended, and returns the time of the removal.
    pub(super) fn on_match_ended(&self, id: &str) -> u64 {
        let at = self.now().saturating_add(self.config.limits.grace_ms);
        self.ended.lock().push_back((at, id.to_owned()));
        at
    }

    /// Removes ended matches at their scheduled times.
    pub async fn watch_ended(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let now = self.now();
            loop {
                let due = self.ended.lock().pop_front_if(|(at, _)| *at <= now);
                let Some((_, id)) = due else { break };
                if let Some(handle) = self.handle(&id) {
                    handle.send(MatchCommand::Forget);
                }
            }
        }
    }

    /// Drops the ended matches when the server stops. Their state refers to this hub.
    pub(crate) fn discard_ended(&self) {
        let handles: Vec<MatchHandle> = self.live.lock().values().cloned().collect();
        handles.iter().for_each(MatchHandle::discard);
    }

    /// Returns the matches to release when this match ends. These are this match alone, or all matches of its pair if
    /// this match was the last of the pair.
    pub(super) fn released_with(&self, machine: &MatchMachine) -> Vec<String> {
        let setup = machine.setup();
        match (&setup.run, &setup.pair) {
            // The matches of a run are released together, at its end.
            (Some(_), _) => Vec::new(),
            (None, None) => vec![machine.id().to_owned()],
            (None, Some(pair)) => self.lobby.lock().pairs.ended(pair, machine.id()),
        }
    }

    /// Marks matches as released, so that their hidden information becomes public.
    pub(crate) fn mark_released(&self, ids: &[String]) {
        {
            let live = self.live.lock();
            ids.iter().filter_map(|id| live.get(id)).for_each(MatchHandle::release);
        }
        self.releases.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a counter that increases with every release.
    pub(super) fn releases(&self) -> u64 {
        self.releases.load(Ordering::Relaxed)
    }

    /// Handles the end of a match. The joins of the match may then start further matches.
    pub(super) async fn match_over(self: Arc<Self>, machine: &MatchMachine) {
        let reason = machine.record().and_then(|record| record.footer.reason).unwrap_or(EndReason::Aborted);
        let events = machine.record().map_or(0, |record| record.events.len());
        tracing::info!(match_id = machine.id(), reason = word(reason), events, "match ended");
        self.metrics.ended(reason);
        self.end(machine.id());
        if let Some(record) = machine.record() {
            self.runs.ended(record);
        }
        let mut gone = Vec::new();
        {
            let mut lobby = self.lobby.lock();
            for join in machine.setup().seats.iter().filter_map(|s| s.join.as_deref()) {
                if lobby.ended(join) {
                    gone.push(join.to_owned());
                }
            }
        }
        self.seat();
        self.joins_gone(gone).await;
    }

    /// Handles the suspension of a match of a run, which stays in the store. The joins of the match may then start
    /// further matches.
    pub(super) fn suspended(self: &Arc<Self>, machine: &MatchMachine) {
        self.counts(-1);
        for join in machine.setup().seats.iter().filter_map(|s| s.join.as_deref()) {
            self.lobby.lock().ended(join);
        }
    }

    /// Marks a match as ended and no longer counts it as running.
    fn end(&self, id: &str) {
        if let Some(handle) = self.handle(id).filter(MatchHandle::end) {
            self.counts(-1);
            handle.holders().iter().for_each(|session| session.ended(id));
        }
    }

    /// Removes a match whose task is ending.
    pub(super) fn forget(&self, id: &str) {
        let gone = self.live.lock().remove(id);
        if let Some(handle) = gone {
            handle.holders().iter().for_each(|session| session.leave_seat(id));
        }
        self.runs.on_match_gone(id);
    }

    /// Ends a stored match that cannot continue, and notes the reason `why`.
    pub(crate) async fn abandon(&self, id: &str, why: &str) -> Result<(), StoreError> {
        tracing::info!(match_id = id, reason = "infra_error", "match ended");
        self.metrics.ended(EndReason::InfraError);
        let footer = json!({ "reason": "infra_error", "ended": ludex_play::time::now_text() });
        let end = EndRow {
            reason: "infra_error".into(),
            ended_ms: ludex_play::time::epoch_ms(),
            footer: footer.to_string(),
            record: json!({ "note": why }).to_string(),
        };
        self.store.write(vec![Write::MatchEnd { id: id.to_owned(), acts: Vec::new(), end }]).await
    }

    /// Returns the number of joins that could start a match.
    pub(crate) fn waiting(&self) -> usize {
        self.lobby.lock().waiting()
    }

    // ---- the end of the server ------------------------------------------------------------------------------------

    /// Returns when no match with a connected client is running. Matches without a connected client make no progress.
    pub async fn idle(&self) {
        let played = |handle: &MatchHandle| handle.live() && handle.holders().iter().any(|session| session.connected());
        while self.live.lock().values().any(played) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns when every match has passed its log rows to the store. Rows logged later are not buffered.
    pub(crate) async fn settle(&self) {
        let handles: Vec<MatchHandle> = self.live.lock().values().filter(|h| h.live()).cloned().collect();
        let told = |handle: MatchHandle| {
            let (tx, rx) = oneshot::channel();
            handle.send(MatchCommand::Settle(tx));
            rx
        };
        // A match without a task has no buffered rows.
        let settled: Vec<_> = handles.into_iter().map(told).collect();
        futures_util::future::join_all(settled).await;
    }
}
