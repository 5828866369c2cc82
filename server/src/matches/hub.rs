//! What all connections share of the match plane: running matches, sessions, the lobby, the store and the clock.

mod queries;
mod replay_view;
mod restore;

use std::collections::HashMap;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use ludex_agents::{Agent, wrap};
use ludex_env::{GameRef, MoveRequest};
use ludex_play::local::{auto_play_forced, faults_as_infra};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{Input, MatchSetup, Output, SeatSetup};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::limits::Limits;
use ludex_protocol::message::{MatchEntry, SeatInfo};
use ludex_protocol::record::{AgentKind, Clock, EndReason, Header, IllegalMoveRules, RecordSeat};
use ludex_referee::digest;
use ludex_referee::suite::starts::Excerpt;
use tokio::sync::{mpsc, oneshot};

use self::restore::EndedBeforeRestart;
use super::actor::Actor;
use super::lobby::{Lobby, ReservedSeed};
use crate::catalogue::Catalogue;
use crate::compute::Compute;
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

/// What the operator decides.
#[derive(Clone)]
pub struct HubConfig {
    /// Announced limits.
    pub limits: Limits,
    /// The games that are offered.
    pub catalogue: Arc<Catalogue>,
    /// Agents that clients may seat.
    pub opponents: Opponents,
    /// Which matches come in pairs.
    pub pairs: PairMode,
    /// How the matches of people are rated.
    pub humans: Humans,
    /// The folder of the runs.
    pub data: PathBuf,
    /// The suites that agents may enrol for.
    pub suites: Suites,
    /// How long a run may take, from its first enrolment.
    pub run_time: Duration,
    /// The seasons of suites.
    pub seasons: Vec<SuiteSeasons>,
    /// The standing ladders.
    pub(crate) ladders: Vec<Arc<StandingLadder>>,
}

/// The match plane of one server.
pub struct Hub {
    /// What the operator decided.
    pub config: HubConfig,
    /// Where matches are kept.
    pub store: Store,
    /// Where agents think.
    pub compute: Compute,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sessions: Sessions,
    started: tokio::time::Instant,
    secret: [u8; 32],
    /// Matches that have a task: those that run, and those that are over and can still be told about.
    live: Mutex<HashMap<String, MatchHandle>>,
    /// How many matches run or are about to begin.
    running: AtomicIsize,
    pub(super) lobby: Mutex<Lobby>,
    late: Mutex<EndedBeforeRestart>,
    /// Held while matches are brought back for a session.
    recalls: tokio::sync::Mutex<()>,
    draining: AtomicBool,
    pub(crate) runs: Runs,
    /// How often matches were released.
    releases: AtomicU64,
}

/// A seat of a match that is about to begin.
pub(super) struct SeatPlan {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) kind: AgentKind,
    pub(super) setup: SeatSetup,
    pub(super) guard: AgentOptions,
    pub(super) occupant: Occupant,
}

/// How an agent of the server's is asked in a match of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentOptions {
    /// It is not asked where it has one legal action.
    #[serde(default)]
    pub skips_forced: bool,
    /// Its failures are faults of the server.
    #[serde(default)]
    pub blameless: bool,
}

impl AgentOptions {
    /// The agent as it is asked.
    pub fn around(self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        let agent = if self.blameless { faults_as_infra(agent) } else { agent };
        if self.skips_forced { auto_play_forced(agent) } else { agent }
    }

    fn is_default(&self) -> bool {
        *self == AgentOptions::default()
    }
}

/// Who plays a seat.
pub(super) enum Occupant {
    Client(Arc<Session>),
    Agent { agent: Arc<dyn Agent>, spec: String, pace: Arc<Pace> },
}

impl Occupant {
    fn session(&self) -> Option<&Arc<Session>> {
        match self {
            Occupant::Client(session) => Some(session),
            Occupant::Agent { .. } => None,
        }
    }
}

/// A match that is about to begin.
pub(super) struct MatchPlan {
    pub(super) seats: Vec<SeatPlan>,
    pub(super) terms: MatchTerms,
}

/// What is fixed about a match that is about to begin.
pub(super) enum MatchTerms {
    /// What its clients asked for.
    Asked(RequestedTerms),
    /// What a run planned.
    Planned(Box<MatchSetup>),
    /// It was interrupted, and continues.
    Kept(Arc<StoredMatch>),
}

/// The terms of a match that clients asked for.
pub(super) struct RequestedTerms {
    pub(super) game: GameRef,
    pub(super) rated: bool,
    pub(super) clock: Clock,
    pub(super) pair: Option<String>,
    /// Its place among the matches of the pair that come from the same joins.
    pub(super) turn: u32,
    /// Whether the server plays a mirror of it: its agent on every seat, on the same seed.
    pub(super) mirror: bool,
    /// Whether its clients may have agreed to meet.
    pub(super) arranged: bool,
    /// The season of a ladder that it belongs to.
    pub(super) label: Option<String>,
}

/// What a running match keeps beside its public head; never shown before the release.
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
    /// The place among the matches of the pair.
    #[serde(default, skip_serializing_if = "is_zero")]
    turn: u32,
    /// The returns of the mirror.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mirror: Vec<f64>,
    /// The part of the game that is played, if it is not the whole.
    #[serde(default, skip_serializing_if = "Excerpt::is_whole")]
    excerpt: Excerpt,
}

fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

#[derive(Serialize, Deserialize)]
struct SecretSeat {
    setup: SeatSetup,
    /// The owner of the token of the session that sat there first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// How the server's agent there is asked.
    #[serde(default, skip_serializing_if = "AgentOptions::is_default")]
    guard: AgentOptions,
}

/// What a client is told if something could not be kept; the log says why.
pub(crate) fn storage_failure(error: &dyn Display) -> Box<Refusal> {
    tracing::error!(%error, "something could not be kept");
    Box::new(Refusal::new(ErrorCode::Internal, "the server could not keep it; try again later"))
}

/// Random bytes of the system's.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Box<Refusal>> {
    random_bytes::<N>().map_err(|error| {
        tracing::error!(%error, "the system gives no random numbers");
        Box::new(Refusal::new(ErrorCode::Internal, "the server has no random numbers; try again later"))
    })
}

/// A fresh id: a letter, `_` and 12 random hex digits.
pub(crate) fn fresh_id(letter: char) -> Result<String, Box<Refusal>> {
    Ok(format!("{letter}_{}", hex::encode(random::<6>()?)))
}

impl Hub {
    /// The match plane over a store, before anybody connects.
    ///
    /// # Errors
    /// The store's.
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
            running: AtomicIsize::new(0),
            lobby: Mutex::default(),
            late: Mutex::default(),
            recalls: tokio::sync::Mutex::default(),
            draining: AtomicBool::new(false),
            runs: Runs::default(),
            releases: AtomicU64::new(0),
        }))
    }

    /// Milliseconds since the server began; the clock of everything.
    pub fn now(&self) -> u64 {
        self.at(tokio::time::Instant::now())
    }

    /// A time by the same clock.
    pub(crate) fn at(&self, at: tokio::time::Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }

    /// No new matches from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.runs.halt();
    }

    /// Whether the server is about to stop.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// How many matches run or are about to begin.
    pub fn live_matches(&self) -> usize {
        self.running.load(Ordering::Relaxed).max(0).unsigned_abs()
    }

    pub(super) fn counts(&self, change: isize) {
        self.running.fetch_add(change, Ordering::Relaxed);
    }

    pub(crate) fn handle(&self, id: &str) -> Option<MatchHandle> {
        self.live.lock().get(id).cloned()
    }

    /// Whether a match runs.
    pub(crate) fn is_live(&self, id: &str) -> bool {
        self.handle(id).is_some_and(|handle| handle.live())
    }

    // ---- sessions -------------------------------------------------------------------------------------------------

    /// A session waits for its client, as `number`, for the grace time; then it is over.
    pub(crate) fn wait_for(self: &Arc<Self>, session: Arc<Session>, number: u64) {
        let hub = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(hub.config.limits.grace_ms)).await;
            if hub.sessions.expire(&session, number) {
                hub.session_over(&session, "away").await;
            }
        });
    }

    /// A session is over for good, and `why`. While the server stops, sessions stay in the store for its return.
    pub(crate) async fn session_over(self: &Arc<Self>, session: &Session, why: &str) {
        if self.draining() {
            return;
        }
        tracing::info!(session = %session.id, agent = session.name(), why, "a session ends");
        // Matches of runs wait in the store for the agent's return.
        for (handle, _) in session.seats() {
            handle.send(MatchCommand::Suspend);
        }
        self.dismiss(session).await;
        self.late.lock().forget(&session.id);
        if let Err(error) = self.store.write_behind(vec![Write::SessionGone { id: session.id.clone() }]).await {
            tracing::debug!(%error, "the end of a session could not be kept");
        }
    }

    /// A session has no matches to come any more; those that run are played on.
    pub(crate) async fn dismiss(self: &Arc<Self>, session: &Session) {
        let joins = self.drop_joins(&session.id);
        self.joins_gone(joins).await;
        self.seat();
    }

    /// Keeps who the client of a session is and which key resumes it: behind, unless something is `at_stake`. Then it
    /// waits until the key is durable, or a client could come back with one that nobody knows.
    pub(crate) async fn keep_session(&self, session: &Session, at_stake: bool) {
        let expires_ms = ludex_play::time::epoch_ms().saturating_add(self.config.limits.grace_ms as i64);
        let kept = match session.row(expires_ms) {
            Ok(row) if at_stake => self.store.write(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Ok(row) => self.store.write_behind(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = kept {
            tracing::error!(session = %session.id, %error, "a session could not be kept");
        }
    }

    // ---- matches --------------------------------------------------------------------------------------------------

    /// Begins a match: its row is kept before anybody hears of it.
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

    /// The terms of a match as its clients asked for it, and what keeps its seed from being drawn again.
    async fn setup(
        self: &Arc<Self>,
        asked: &RequestedTerms,
        seats: &[SeatPlan],
    ) -> Result<(MatchSetup, Option<Write>), Box<Refusal>> {
        let salt = random::<16>()?;
        let (seed, drawn) = self.seed(asked)?;
        let mirror = self.mirror(asked, seats, seed).await;
        let spec = asked.game.spec();
        let peeks =
            seats.iter().any(|s| matches!(&s.occupant, Occupant::Agent { agent, .. } if agent.needs_full_state()));
        let flags = [(peeks, "peek"), (asked.arranged, "arranged")];
        let header = Header {
            ludex: 1,
            episode: fresh_id('m')?,
            number: 0,
            flags: flags.iter().filter(|(has, _)| *has).map(|(_, flag)| (*flag).to_owned()).collect(),
            game: spec.game.clone(),
            params: spec.params.clone(),
            rules: spec.rules,
            hash: spec.hash.clone(),
            server: ludex_play::PROGRAM.into(),
            seats: Vec::new(),
            rated: asked.rated,
            clock: asked.clock.clone(),
            illegal: IllegalMoveRules::default(),
            seed_commit: Some(digest::seed_commit(&salt, seed)),
            start: 0,
            started: ludex_play::time::now_text(),
        };
        let setup = MatchSetup {
            game: asked.game.clone(),
            header,
            seats: Vec::new(),
            skip_forced: false,
            seed,
            salt,
            release: asked.pair.is_none(),
            grace_ms: Some(self.config.limits.grace_ms),
            run: None,
            pair: asked.pair.clone(),
            mirror,
            excerpt: Excerpt::default(),
            restarts: 0,
        };
        Ok((setup, drawn))
    }

    /// Starts a match between these seats, the `turn`-th of its pair.
    async fn start(
        self: &Arc<Self>,
        mut setup: MatchSetup,
        seats: Vec<SeatPlan>,
        turn: u32,
        drawn: Option<Write>,
        label: Option<String>,
    ) -> Result<(), Box<Refusal>> {
        setup.header.seats = seats.iter().map(record_seat).collect();
        setup.seats = seats.iter().map(|s| s.setup.clone()).collect();
        let id = setup.header.episode.clone();
        let secret_seat = |s: &SeatPlan| {
            let owner = s.occupant.session().and_then(|session| session.about.owner.clone());
            SecretSeat { setup: s.setup.clone(), owner, guard: s.guard }
        };
        let seat_row = |s: &SeatPlan| {
            let session = s.occupant.session().map(|session| session.id.clone());
            SeatRow { agent: s.name.clone(), session, join: s.setup.join.clone() }
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
        // The row says from which joins its seats come: after a crash they have had this match, or it never was.
        self.store
            .write(drawn.into_iter().chain([Write::MatchStart(row)]).collect())
            .await
            .map_err(|e| storage_failure(&e))?;
        if let Some(pair) = setup.pair.as_deref().filter(|_| setup.run.is_none()) {
            self.lobby.lock().pairs.on_match_start(pair, &id);
        }
        let names: Vec<_> = seats.iter().map(|s| s.name.as_str()).collect();
        tracing::info!(match_id = %id, game = spec.string, seats = names.join(", "), rated = setup.header.rated, "a match begins");
        self.metrics.begun.increment(1);
        let occupants = seats.into_iter().map(|s| s.occupant).collect();
        let machine = MatchMachine::new(setup, self.now());
        let handle = self.launch(machine, occupants, 0, Vec::new());
        handle.send(MatchCommand::Input(Input::Start));
        Ok(())
    }

    /// The seed of a match: that of its pair, or a new one.
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

    /// Plays the mirror of a match, if it is to have one: the returns of the seats. It is played before the match, so that
    /// nothing that happens there decides whether there is one.
    async fn mirror(&self, asked: &RequestedTerms, seats: &[SeatPlan], seed: u64) -> Vec<f64> {
        let agent = seats.iter().find_map(|s| match &s.occupant {
            Occupant::Agent { agent, .. } => Some(agent.clone()),
            Occupant::Client(_) => None,
        });
        let owner = seats.iter().find_map(|s| s.occupant.session()).map(|s| s.account.name.clone());
        let Some((agent, owner)) = agent.zip(owner).filter(|_| asked.mirror) else { return Vec::new() };
        let (game, compute) = (asked.game.clone(), self.compute.clone());
        // Each move waits for the owner's turn, as the agent's moves in the match itself do.
        let agent: Arc<dyn Agent> =
            Arc::new(wrap(agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>, by: Option<Instant>| {
                compute.piece(&owner, || agent.act(ask, by))
            }));
        let play = move || {
            let seats = game.spec().players as usize;
            ludex_play::play(&game, vec![agent; seats], seed).ok().filter(|played| played.failure.is_none())
        };
        let played = self.compute.wait(play).await.ok().flatten();
        played.map_or_else(Vec::new, |played| played.record.footer.returns)
    }

    /// Starts the task of a match and connects those who are there. `first` are outputs that wait already.
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
        let actor = Actor::new(self.clone(), machine, handle.clone(), agents, rows);
        let task = AssertUnwindSafe(actor.run(rx, first)).catch_unwind();
        let hub = self.clone();
        tokio::spawn(async move {
            if task.await.is_err() {
                tracing::error!(match_id = %id, "the task of a match panicked");
                hub.end(&id);
                hub.forget(&id);
                if let Err(error) = hub.abandon(&id, "the server failed").await {
                    tracing::error!(match_id = %id, %error, "its end could not be kept");
                }
            }
        });
        handle
    }

    /// The matches that may be released now that this one is over: itself, or all of its pair if it was the last.
    pub(super) fn released_with(&self, machine: &MatchMachine) -> Vec<String> {
        let setup = machine.setup();
        match (&setup.run, &setup.pair) {
            // The matches of a run are released together, at its end.
            (Some(_), _) => Vec::new(),
            (None, None) => vec![machine.id().to_owned()],
            (None, Some(pair)) => self.lobby.lock().pairs.ended(pair, machine.id()),
        }
    }

    /// What was hidden in these matches may be shown.
    pub(crate) fn mark_released(&self, ids: &[String]) {
        {
            let live = self.live.lock();
            ids.iter().filter_map(|id| live.get(id)).for_each(MatchHandle::release);
        }
        self.releases.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that changes when matches are released.
    pub(super) fn releases(&self) -> u64 {
        self.releases.load(Ordering::Relaxed)
    }

    /// Called by a match that ended: joins may have another one.
    pub(super) async fn match_over(self: Arc<Self>, machine: &MatchMachine) {
        let reason = machine.record().and_then(|record| record.footer.reason).unwrap_or(EndReason::Aborted);
        let events = machine.record().map_or(0, |record| record.events.len());
        tracing::info!(match_id = machine.id(), reason = word(reason), events, "a match ends");
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

    /// A match of a run is left to the store: its joins have room for another.
    pub(super) fn suspended(self: &Arc<Self>, machine: &MatchMachine) {
        self.counts(-1);
        for join in machine.setup().seats.iter().filter_map(|s| s.join.as_deref()) {
            self.lobby.lock().ended(join);
        }
    }

    /// A match does not run any more.
    fn end(&self, id: &str) {
        if let Some(handle) = self.handle(id).filter(MatchHandle::end) {
            self.counts(-1);
            handle.holders().iter().for_each(|session| session.ended(id));
        }
    }

    /// Called by a match whose task ends.
    pub(super) fn forget(&self, id: &str) {
        let gone = self.live.lock().remove(id);
        if let Some(handle) = gone {
            handle.holders().iter().for_each(|session| session.leave_seat(id));
        }
        self.runs.on_match_gone(id);
    }

    /// Ends a stored match that cannot continue.
    pub(crate) async fn abandon(&self, id: &str, why: &str) -> Result<(), StoreError> {
        tracing::info!(match_id = id, reason = "infra_error", "a match ends");
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

    /// How many joins wait for a match.
    pub(crate) fn waiting(&self) -> usize {
        self.lobby.lock().waiting()
    }

    // ---- the end of the server ------------------------------------------------------------------------------------

    /// Returns when no match runs that somebody is here to play. Others have to wait for their clients anyway.
    pub async fn idle(&self) {
        let played = |handle: &MatchHandle| handle.live() && handle.holders().iter().any(|session| session.connected());
        while self.live.lock().values().any(played) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns when every match has handed all rows of its log to the store. Later rows are handed over at once.
    pub(crate) async fn settle(&self) {
        let handles: Vec<MatchHandle> = self.live.lock().values().filter(|h| h.live()).cloned().collect();
        let told = |handle: MatchHandle| {
            let (tx, rx) = oneshot::channel();
            handle.send(MatchCommand::Settle(tx));
            rx
        };
        // A match without a task has nothing to hand over.
        let settled: Vec<_> = handles.into_iter().map(told).collect();
        futures_util::future::join_all(settled).await;
    }
}

fn record_seat(s: &SeatPlan) -> RecordSeat {
    let spec = match &s.occupant {
        Occupant::Agent { spec, .. } => Some(spec.clone()),
        Occupant::Client(_) => None,
    };
    RecordSeat { name: s.name.clone(), version: s.version.clone(), kind: s.kind, spec }
}
