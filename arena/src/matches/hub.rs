//! Shared state of the match plane: running matches, sessions, the lobby, the store and the clock.

mod cell;
mod end;
mod queries;
mod replay_view;
mod restore;
mod start;

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::Compute;
use ludex_gym::opponents::Opponents;
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::MatchSetup;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::limits::Limits;
use ludex_protocol::record::{EndReason, Record};
use ludex_store::{Store, StoreError, Write, random_bytes};
use parking_lot::Mutex;

pub use self::end::stored_end;
pub use self::replay_view::MatchReplay;
use self::restore::EndedBeforeRestart;
use super::event_loop::EventLoops;
use super::lobby::Lobby;
use super::loop_context::MatchParts;
use super::observer::MatchObserver;
use super::run_observer::RunObserver;
use crate::cells::CellUrls;
use crate::clock::Clock;
use crate::consent::ConsentText;
use crate::live::Live;
use crate::metrics::{Metrics, word};
use crate::seasons::SuiteSeasons;
use crate::sessions::match_handle::{MatchCommand, MatchHandle};
use crate::sessions::{Session, Sessions};
use crate::settings::{Humans, PairMode};
use crate::standing_ladders::StandingLadder;
use crate::suites::Suites;

/// Operator settings of the match plane.
pub struct HubConfig {
    /// Limits announced to clients.
    pub limits: Live<Limits>,
    pub catalogue: Arc<Catalogue>,
    /// Agents that clients may seat.
    pub opponents: Live<Opponents>,
    /// Pairing mode for joins that do not set one.
    pub pairs: PairMode,
    /// Rating mode for matches of people.
    pub humans: Humans,
    /// Directory of the runs.
    pub data: PathBuf,
    /// Suites in which agents may enroll.
    pub suites: Suites,
    /// Text that people accept before their first match of a run.
    pub consent: Option<ConsentText>,
    /// Maximum duration of a run, from its first enrolment.
    pub run_time: Duration,
    pub seasons: Live<Vec<SuiteSeasons>>,
    pub ladders: Vec<Arc<StandingLadder>>,
    /// URLs of all cells.
    pub urls: Arc<CellUrls>,
}

/// Match plane of one server.
pub struct Hub {
    pub config: HubConfig,
    pub store: Store,
    /// Pool in which agents compute.
    pub compute: Compute,
    pub metrics: Arc<Metrics>,
    pub sessions: Sessions,
    pub clock: Clock,
    secret: [u8; 32],
    loops: EventLoops,
    /// Running matches, and ended matches that still serve requests.
    live: Mutex<HashMap<String, MatchHandle>>,
    /// Ended matches with the times of their removal, in order.
    ended: Mutex<VecDeque<(u64, String)>>,
    /// Number of running and starting matches.
    running: AtomicIsize,
    pub(super) lobby: Mutex<Lobby>,
    late: Mutex<EndedBeforeRestart>,
    /// Lock that is held while the matches of a session are restored.
    recalls: tokio::sync::Mutex<()>,
    draining: Arc<AtomicBool>,
    runs: OnceLock<Weak<dyn RunObserver>>,
    /// Number of releases of matches so far.
    releases: AtomicU64,
}

/// Logs a failed write and returns the refusal for the client.
pub fn storage_failure(error: &dyn Display) -> Box<Refusal> {
    tracing::error!(%error, "store write failed");
    Box::new(Refusal::new(ErrorCode::Internal, "storing the request failed; try again later"))
}

/// Interval at which ended matches are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// Returns random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Box<Refusal>> {
    random_bytes::<N>().map_err(|error| {
        tracing::error!(%error, "random number generation failed");
        Box::new(Refusal::new(ErrorCode::Internal, "the server cannot generate random numbers; try again later"))
    })
}

impl Hub {
    /// Creates the match plane of a store, with an event loop for each of `workers` threads. Must be called before any
    /// client connects.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn new(
        store: Store,
        config: HubConfig,
        compute: Compute,
        metrics: Arc<Metrics>,
        workers: usize,
    ) -> Result<Arc<Hub>, StoreError> {
        // Each cell numbers its rated matches, so each has its own seeds.
        let secret = store.secret(&store.cell().own("rated")).await?;
        Ok(Arc::new(Hub {
            config,
            store,
            compute,
            metrics,
            sessions: Sessions::default(),
            clock: Clock::start(),
            secret,
            loops: EventLoops::new(workers),
            live: Mutex::default(),
            ended: Mutex::default(),
            running: AtomicIsize::new(0),
            lobby: Mutex::default(),
            late: Mutex::default(),
            recalls: tokio::sync::Mutex::default(),
            draining: Arc::default(),
            runs: OnceLock::new(),
            releases: AtomicU64::new(0),
        }))
    }

    /// Runs the event loop of worker number `index` on the current thread, until the thread's runtime stops.
    pub async fn run_matches(self: Arc<Self>, index: usize) {
        let parts = MatchParts {
            clock: self.clock,
            compute: self.compute.clone(),
            metrics: self.metrics.clone(),
            store: self.store.clone(),
            agent_ms: self.config.opponents.get().agent_ms,
            draining: self.draining.clone(),
        };
        self.loops.run(index, parts, Arc::new(self.clone())).await;
    }

    /// Returns a new id of this cell, with 12 random hex digits.
    pub(crate) fn fresh_id(&self, letter: char) -> Result<String, Box<Refusal>> {
        Ok(self.cell().id(letter, &hex::encode(random::<6>()?)))
    }

    /// Returns the time in milliseconds since the server started, on which all match times are based.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Sets the recipient of the events of runs, once.
    pub fn set_run_observer(&self, runs: Weak<dyn RunObserver>) {
        // The first observer stays.
        let _ = self.runs.set(runs);
    }

    /// Returns the recipient of the events of runs; `None` while the server starts and stops.
    pub(super) fn runs(&self) -> Option<Arc<dyn RunObserver>> {
        self.runs.get()?.upgrade()
    }

    /// Refuses new matches from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
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

    pub fn handle(&self, id: &str) -> Option<MatchHandle> {
        self.live.lock().get(id).cloned()
    }

    /// Returns true if the match is running.
    pub fn is_live(&self, id: &str) -> bool {
        self.handle(id).is_some_and(|handle| handle.live())
    }

    /// Returns the time for which a lost session can be resumed.
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.config.limits.get().grace_ms)
    }

    /// Ends a session without a connection after `time`, unless the session resumes before. `number` identifies this
    /// wait: if the session resumes and is disconnected again, the new wait has another number.
    pub fn wait_for(self: &Arc<Self>, session: Arc<Session>, number: u64, time: Duration) {
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
    pub async fn session_over(self: &Arc<Self>, session: &Session, why: &str) {
        if self.draining() {
            return;
        }
        tracing::info!(session = %session.id, agent = session.name(), why, "session ended");
        // Of these matches, only those of runs are suspended: they stay in the store until the agent returns.
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
    pub async fn dismiss(self: &Arc<Self>, session: &Session) {
        let joins = self.drop_joins(&session.id);
        self.joins_gone(joins).await;
        self.seat();
    }

    /// Stores a session's client and resume key. If `durable`, waits until the key is on disk, since the client could not
    /// resume after a crash without it. Otherwise, the write is asynchronous. Returns false if the key is not stored.
    pub async fn keep_session(&self, session: &Session, durable: bool) -> bool {
        let expires_ms = ludex_play::time::epoch_ms().saturating_add(self.config.limits.get().grace_ms as i64);
        let kept = match session.row(expires_ms) {
            Ok(row) if durable => self.store.write(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Ok(row) => self.store.write_behind(vec![Write::Session(row)]).await.map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = &kept {
            tracing::error!(session = %session.id, %error, "storing a session failed");
        }
        kept.is_ok()
    }

    /// Schedules the removal of a match that has ended.
    pub(super) fn remove_later(&self, id: &str) {
        let at = self.now().saturating_add(self.config.limits.get().grace_ms);
        self.ended.lock().push_back((at, id.to_owned()));
    }

    /// Removes ended matches at their scheduled times, and seats the joins that have rested.
    pub async fn watch_ended(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let now = self.now();
            let rested = self.lobby.lock().end_rests(now);
            if rested {
                self.seat();
            }
            loop {
                let due = self.ended.lock().pop_front_if(|(at, _)| *at <= now);
                let Some((_, id)) = due else { break };
                if let Some(handle) = self.handle(&id) {
                    handle.send(MatchCommand::Forget);
                }
            }
        }
    }

    /// Marks matches as released, so that their hidden information becomes public.
    pub fn mark_released(&self, ids: &[String]) {
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

    /// Lets the joins of an ended match start further matches. Returns the writes for the joins that have ended too.
    fn free_joins(self: &Arc<Self>, machine: &MatchMachine) -> Vec<Write> {
        let mut gone = Vec::new();
        {
            let mut lobby = self.lobby.lock();
            if let Some(record) = machine.record() {
                let absent = record.absent_seat();
                let counts = record.footer.reason.is_some_and(EndReason::counts);
                for (seat, setup) in (0..).zip(&machine.setup().seats) {
                    if let Some(join) = setup.join.as_deref()
                        && (counts || absent == Some(seat))
                    {
                        lobby.count_show(join, absent != Some(seat), self.now());
                    }
                }
            }
            for join in machine.setup().joins() {
                if lobby.ended(join) {
                    gone.push(join.to_owned());
                }
            }
        }
        self.seat();
        let (writes, released) = self.end_joins(gone);
        if !released.is_empty() {
            self.mark_released(&released);
        }
        writes
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
        if let Some(runs) = self.runs() {
            runs.on_removal(id);
        }
    }

    /// Returns the number of joins that could start a match.
    pub fn waiting(&self) -> usize {
        self.lobby.lock().waiting()
    }

    /// Returns when no match with a connected client is running. Matches without a connected client make no progress.
    pub async fn idle(&self) {
        let played = |handle: &MatchHandle| handle.live() && handle.holders().iter().any(|session| session.connected());
        while self.live.lock().values().any(played) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns when every match has passed its log rows to the store. Rows logged later are not buffered.
    pub async fn settle(&self) {
        self.loops.settle().await;
    }
}

impl MatchObserver for Arc<Hub> {
    fn on_start(&self, id: &str) {
        if let Some(runs) = self.runs() {
            runs.on_start(id);
        }
    }

    fn released_with(&self, machine: &MatchMachine) -> Vec<String> {
        let setup = machine.setup();
        match (&setup.run, &setup.pair) {
            // The matches of a run are released together, at its end.
            (Some(_), _) => Vec::new(),
            (None, None) => vec![machine.id().to_owned()],
            (None, Some(pair)) => self.lobby.lock().pairs.ended(pair, machine.id()),
        }
    }

    fn on_release(&self, ids: &[String]) {
        self.mark_released(ids);
    }

    fn on_end(&self, machine: &MatchMachine) -> Vec<Write> {
        let reason = machine.record().and_then(|record| record.footer.reason).unwrap_or(EndReason::Aborted);
        let events = machine.record().map_or(0, |record| record.events.len());
        tracing::info!(match_id = machine.id(), reason = word(reason), events, "match ended");
        self.metrics.ended(reason);
        self.end(machine.id());
        self.remove_later(machine.id());
        if let Some((runs, record)) = self.runs().zip(machine.record()) {
            runs.on_end(record);
        }
        self.free_joins(machine)
    }

    fn read_ended(&self, id: &str, restarts: u32) -> BoxFuture<'static, Result<(MatchSetup, Record), String>> {
        let (hub, id) = (self.clone(), id.to_owned());
        Box::pin(async move {
            hub.store.settle().await;
            let kept = hub.store.episode(&id).await.map_err(|e| e.to_string())?;
            let kept = kept.filter(|kept| kept.end.is_some()).ok_or("the end of the match is missing in the store")?;
            let record = kept.end.as_ref().map_or("", |end| end.record.as_str());
            Ok((hub.setup_of(&kept, restarts)?.0, serde_json::from_str(record).map_err(|e| e.to_string())?))
        })
    }

    fn on_suspension(&self, machine: &MatchMachine) {
        self.counts(-1);
        for join in machine.setup().joins() {
            self.lobby.lock().ended(join);
        }
    }

    fn on_removal(&self, id: &str) {
        self.forget(id);
    }

    fn on_failure(&self, machine: &MatchMachine, is_stored: bool) {
        let id = machine.id().to_owned();
        self.end(&id);
        self.forget(&id);
        let (hub, writes) = (self.clone(), self.free_joins(machine));
        tokio::spawn(async move {
            let stored = async {
                if is_stored {
                    hub.abandon(&id, EndReason::InfraError, "the server failed").await?;
                }
                hub.store.write(writes).await
            };
            if let Err(error) = stored.await {
                tracing::error!(match_id = %id, %error, "storing the end of a match failed");
            }
        });
    }
}
