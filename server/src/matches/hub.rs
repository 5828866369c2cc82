//! What all connections share of the match plane: running matches, entrants, the lobby, the store and the clock.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use ludex_agents::Agent;
use ludex_env::{GameRef, Seat};
use ludex_protocol::client::ListMatches;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::limits::Limits;
use ludex_protocol::record::{AgentKind, Clock, Header, Illegal, RecordSeat};
use ludex_protocol::server::{MatchEntry, Matches, SeatInfo};
use ludex_referee::digest;
use tokio::sync::{mpsc, oneshot};

use super::actor::{Actor, Cmd, Handle};
use super::entrant::Entrant;
use super::lobby::Lobby;
use crate::auth::random_bytes;
use crate::compute::Compute;
use crate::opponents::Opponents;
use crate::store::{KeptMatch, MatchRow, Store, StoreError, Write};
use ludex_play::machine::Match;
use ludex_play::machine::terms::{Input, Kept, SeatSetup, Setup};

/// How many matches one list shows at the most.
const LIST_LIMIT: u32 = 500;

/// What the operator decides.
#[derive(Clone, Debug, Default)]
pub struct HubConfig {
    /// Announced limits.
    pub limits: Limits,
    /// Agents that clients may seat.
    pub opponents: Opponents,
}

/// The match plane of one server.
pub struct Hub {
    /// What the operator decided.
    pub config: HubConfig,
    /// Where matches are kept.
    pub store: Store,
    /// Where agents think.
    pub compute: Compute,
    started: tokio::time::Instant,
    secret: [u8; 32],
    live: Mutex<HashMap<String, Handle>>,
    entrants: Mutex<HashMap<String, Arc<Entrant>>>,
    pub(super) lobby: Mutex<Lobby>,
    draining: AtomicBool,
    connections: AtomicU64,
}

/// A seat of a match that is about to begin.
pub(super) struct SeatPlan {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) kind: AgentKind,
    pub(super) setup: SeatSetup,
    pub(super) player: Plays,
}

/// Who plays a seat.
pub(super) enum Plays {
    Client(Arc<Entrant>),
    Agent { agent: Arc<dyn Agent>, spec: String },
}

/// A match that is about to begin.
pub(super) struct MatchPlan {
    pub(super) game: GameRef,
    pub(super) seats: Vec<SeatPlan>,
    pub(super) rated: bool,
    pub(super) clock: Clock,
    pub(super) illegal: Illegal,
    pub(super) skip_forced: bool,
    /// The seed; else drawn (by the secret's series, when rated).
    pub(super) seed: Option<u64>,
    pub(super) run: Option<String>,
    pub(super) pair: Option<String>,
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
}

#[derive(Serialize, Deserialize)]
struct SecretSeat {
    setup: SeatSetup,
    /// The session that holds the seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The owner of its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

pub(super) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while the lock was held is logged where it is caught; the data are plain maps and stay usable.
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Random bytes of the system's.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Box<Refusal>> {
    random_bytes::<N>().map_err(|error| {
        tracing::error!(%error, "the system gives no random numbers");
        Box::new(Refusal::new(ErrorCode::Internal, "the server has no random numbers; try again later"))
    })
}

/// A fresh id: a letter, `_` and 12 random hex digits.
pub(super) fn fresh_id(letter: char) -> Result<String, Box<Refusal>> {
    Ok(format!("{letter}_{}", hex::encode(random::<6>()?)))
}

impl Hub {
    /// The match plane over a store, before anybody connects.
    ///
    /// # Errors
    /// The store's.
    pub async fn new(store: Store, config: HubConfig, compute: Compute) -> Result<Arc<Hub>, StoreError> {
        let secret = store.secret("rated").await?;
        Ok(Arc::new(Hub {
            config,
            store,
            compute,
            started: tokio::time::Instant::now(),
            secret,
            live: Mutex::default(),
            entrants: Mutex::default(),
            lobby: Mutex::default(),
            draining: AtomicBool::new(false),
            connections: AtomicU64::new(0),
        }))
    }

    /// Milliseconds since the server began; the clock of everything.
    pub fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A number for a new connection, above all others so far.
    pub(super) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// No new matches from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server is about to stop.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// How many matches run.
    pub fn live_matches(&self) -> usize {
        lock(&self.live).values().filter(|h| h.live()).count()
    }

    pub(super) fn handle(&self, id: &str) -> Option<Handle> {
        lock(&self.live).get(id).cloned()
    }

    /// Makes an entrant known, so that others can find it by its session.
    pub(super) fn enrol(&self, entrant: &Arc<Entrant>) {
        lock(&self.entrants).insert(entrant.session.clone(), entrant.clone());
    }

    /// Forgets a session for good.
    pub(super) fn strike(&self, session: &str) {
        lock(&self.entrants).remove(session);
    }

    /// The entrant of a session, also of one that was stored before a restart.
    pub fn entrant(&self, session: &str) -> Option<Arc<Entrant>> {
        lock(&self.entrants).get(session).cloned()
    }

    pub(super) fn entrants_named(&self, agent: &str, owner: Option<&str>) -> Vec<Arc<Entrant>> {
        let all = lock(&self.entrants);
        all.values().filter(|e| e.agent == agent && e.owner.as_deref() == owner).cloned().collect()
    }

    // ---- matches --------------------------------------------------------------------------------------------------

    /// Begins a match: its row is kept before anybody hears of it.
    pub(super) async fn begin(self: &Arc<Self>, plan: MatchPlan) -> Result<String, Box<Refusal>> {
        let internal = |e: StoreError| {
            tracing::error!(error = %e, "a match could not be kept");
            Box::new(Refusal::new(ErrorCode::Internal, "the match could not be kept; try again later"))
        };
        let id = fresh_id('m')?;
        let salt = random::<16>()?;
        let seed = match plan.seed {
            Some(seed) => seed,
            None if plan.rated => {
                let index = self.store.next("rated").await.map_err(internal)?;
                digest::rated_seed(&self.secret, index)
            }
            None => u64::from_be_bytes(random::<8>()?),
        };
        let spec = plan.game.spec();
        let flags = plan.seats.iter().any(|s| matches!(&s.player, Plays::Agent { agent, .. } if agent.peeks()));
        let header = Header {
            ludex: 1,
            episode: id.clone(),
            number: 0,
            flags: if flags { vec!["peek".into()] } else { Vec::new() },
            game: spec.game.clone(),
            params: spec.params.clone(),
            rules: spec.rules,
            hash: spec.hash.clone(),
            server: ludex_play::PROGRAM.into(),
            seats: plan.seats.iter().map(record_seat).collect(),
            rated: plan.rated,
            clock: plan.clock.clone(),
            illegal: plan.illegal,
            seed_commit: Some(digest::seed_commit(&salt, seed)),
            started: ludex_play::time::now_text(),
        };
        let entrant = |s: &SeatPlan| match &s.player {
            Plays::Client(e) => Some(e.clone()),
            Plays::Agent { .. } => None,
        };
        let secret_seat = |s: &SeatPlan| {
            let (session, owner) = entrant(s).map(|e| (e.session.clone(), e.owner.clone())).unzip();
            SecretSeat { setup: s.setup.clone(), session, owner: owner.flatten() }
        };
        let release = plan.pair.is_none();
        let secret = Secret {
            seed: seed.to_string(),
            salt: hex::encode(salt),
            skip_forced: plan.skip_forced,
            release,
            seats: plan.seats.iter().map(secret_seat).collect(),
            pair: plan.pair.clone(),
            run: plan.run.clone(),
        };
        let row = MatchRow {
            id: id.clone(),
            game: spec.game.clone(),
            string: spec.string.clone(),
            rated: plan.rated,
            run: plan.run.clone(),
            agents: plan.seats.iter().map(|s| s.name.clone()).collect(),
            header: serde_json::to_string(&header).unwrap_or_default(),
            secret: serde_json::to_string(&secret).unwrap_or_default(),
            started_ms: ludex_play::time::epoch_ms(),
        };
        // Together: after a crash there is either the match, or one match more to come.
        let sessions = plan.seats.iter().filter_map(entrant).map(|e| e.row(self));
        self.store.write(std::iter::once(Write::MatchStart(row)).chain(sessions).collect()).await.map_err(internal)?;
        if let Some(pair) = &plan.pair {
            lock(&self.lobby).pair_begun(pair, &id);
        }
        let setup = Setup {
            game: plan.game.clone(),
            header,
            seats: plan.seats.iter().map(|s| s.setup.clone()).collect(),
            skip_forced: plan.skip_forced,
            seed,
            salt,
            release,
            grace_ms: self.config.limits.grace_ms,
            run: plan.run,
            pair: plan.pair,
            restarts: 0,
        };
        let players: Vec<Plays> = plan.seats.into_iter().map(|s| s.player).collect();
        let machine = Match::new(setup, self.now());
        let handle = self.launch(machine, players, 0, None);
        handle.send(Cmd::Input(Input::Start));
        Ok(id)
    }

    /// Starts the task of a match and connects those who are there.
    fn launch(
        self: &Arc<Self>,
        machine: Match,
        players: Vec<Plays>,
        rows: u64,
        asks: Option<Vec<ludex_play::machine::terms::Output>>,
    ) -> Handle {
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
        let over = Arc::new(AtomicBool::new(machine.over()));
        let released = Arc::new(AtomicBool::new(false));
        let seated = players.iter().map(|p| match p {
            Plays::Client(e) => Some(e.session.clone()),
            Plays::Agent { .. } => None,
        });
        let seated = seated.collect();
        let handle = Handle { tx: tx.clone(), entry: Arc::new(entry), seated, over: over.clone(), released };
        lock(&self.live).insert(id.clone(), handle.clone());
        let mut agents = Vec::new();
        for (seat, player) in players.into_iter().enumerate() {
            match player {
                Plays::Agent { agent, .. } => agents.push(Some(agent)),
                Plays::Client(entrant) => {
                    entrant.sit(&id, &handle, seat);
                    agents.push(None);
                }
            }
        }
        let actor = Actor::new(self.clone(), machine, tx, agents, rows, over);
        let task = AssertUnwindSafe(actor.run(rx, asks.unwrap_or_default())).catch_unwind();
        let hub = self.clone();
        tokio::spawn(async move {
            if task.await.is_err() {
                tracing::error!(match_id = %id, "the task of a match panicked");
                hub.forget(&id);
                if let Err(error) = hub.bury(&id, "the server failed").await {
                    tracing::error!(match_id = %id, %error, "its end could not be kept");
                }
            }
        });
        handle
    }

    /// The matches that may be released now that this one is over: itself, or all of its pair if it was the last.
    pub(super) fn released_with(&self, machine: &Match) -> Vec<String> {
        match &machine.setup().pair {
            None => vec![machine.id().to_owned()],
            Some(pair) => lock(&self.lobby).pair_ended(pair, machine.id()),
        }
    }

    /// What was hidden in these matches may be shown.
    pub(super) fn mark_released(&self, ids: &[String]) {
        let live = lock(&self.live);
        for handle in ids.iter().filter_map(|id| live.get(id)) {
            handle.released.store(true, Ordering::Relaxed);
        }
    }

    /// Called by a match that ended: joins go on.
    pub(super) async fn match_over(self: Arc<Self>, machine: &Match) {
        let joins: Vec<String> = machine.setup().seats.iter().filter_map(|s| s.join.clone()).collect();
        for join in joins {
            lock(&self.lobby).ended(&join);
        }
        self.seat_all().await;
    }

    /// Called by a match whose task ends.
    pub(super) fn forget(&self, id: &str) {
        lock(&self.live).remove(id);
        let entrants: Vec<Arc<Entrant>> = lock(&self.entrants).values().cloned().collect();
        entrants.iter().for_each(|e| e.rise(id));
    }

    // ---- after a crash --------------------------------------------------------------------------------------------

    /// Brings running matches and sessions back. To be called once, before connections are taken.
    ///
    /// # Errors
    /// The store's. A match that cannot be brought back is ended as `infra_error` and named in the log.
    pub async fn restore(self: &Arc<Self>) -> Result<usize, StoreError> {
        let mut holders = Holders::new();
        for row in self.store.sessions().await? {
            let (entrant, seats) = Entrant::restored(self, row).await;
            holders.extend(seats.into_iter().map(|seat| (seat, entrant.clone())));
        }
        for (id, secret) in self.store.unreleased().await? {
            if let Some(pair) = serde_json::from_str::<Secret>(&secret).ok().and_then(|s| s.pair) {
                lock(&self.lobby).pair_was_over(&pair, &id);
            }
        }
        let mut back = 0;
        for kept in self.store.running().await? {
            let id = kept.row.id.clone();
            match self.revive(kept, &holders).await {
                Ok(()) => back += 1,
                Err(why) => {
                    tracing::error!(match_id = %id, %why, "a match could not be brought back");
                    self.bury(&id, &why).await?;
                }
            }
        }
        let grace = i64::try_from(self.config.limits.grace_ms).unwrap_or(i64::MAX);
        for kept in self.store.ended_since(ludex_play::time::epoch_ms().saturating_sub(grace)).await? {
            let id = kept.row.id.clone();
            if let Err(why) = self.recall(kept, &holders) {
                tracing::warn!(match_id = %id, %why, "the end of a match cannot be told again");
            }
        }
        lock(&self.lobby).tidy();
        Ok(back)
    }

    /// A match that ended shortly before the restart: its end is told to the sessions that come back.
    fn recall(self: &Arc<Self>, kept: KeptMatch, holders: &Holders) -> Result<(), String> {
        let (setup, secret) = self.setup_of(&kept, kept.restarts + 1)?;
        let players = self.players_of(&setup, &secret, holders)?;
        let known = players.iter().any(|p| matches!(p, Plays::Client(e) if !e.is_lost()));
        let Some(end) = kept.end.as_ref().filter(|_| known) else { return Ok(()) };
        let record = serde_json::from_str(&end.record).map_err(|e| e.to_string())?;
        let machine = Match::recall(setup, rows_of(&kept)?, record, self.now())?;
        let handle = self.launch(machine, players, 0, None);
        handle.released.store(kept.released, Ordering::Relaxed);
        Ok(())
    }

    async fn revive(self: &Arc<Self>, kept: KeptMatch, holders: &Holders) -> Result<(), String> {
        let (setup, secret) = self.setup_of(&kept, kept.restarts + 1)?;
        let rows = rows_of(&kept)?;
        let count = rows.len() as u64;
        let players = self.players_of(&setup, &secret, holders)?;
        if let Some(pair) = &setup.pair {
            lock(&self.lobby).pair_begun(pair, &kept.row.id);
        }
        setup.seats.iter().filter_map(|s| s.join.as_deref()).for_each(|join| lock(&self.lobby).goes_on(join));
        let restarts = setup.restarts;
        let (machine, asks) = Match::restore(setup, rows, self.now())?;
        self.store.write(vec![Write::Restarted { id: kept.row.id, restarts }]).await.map_err(|e| e.to_string())?;
        self.launch(machine, players, count, Some(asks));
        Ok(())
    }

    /// Who plays the seats of a match from before a restart.
    fn players_of(self: &Arc<Self>, setup: &Setup, secret: &Secret, holders: &Holders) -> Result<Vec<Plays>, String> {
        let mut players = Vec::new();
        for (k, seat) in secret.seats.iter().enumerate() {
            let record = setup.header.seats.get(k).ok_or("it has more players than seats")?;
            players.push(match &seat.session {
                Some(session) => {
                    // A seat that was reclaimed is not where it was when the match began.
                    let holder = holders.get(&(setup.header.episode.clone(), k)).cloned();
                    let lost = || Entrant::lost(self, session, &record.name, seat.owner.clone());
                    Plays::Client(holder.or_else(|| self.entrant(session)).unwrap_or_else(lost))
                }
                None => {
                    let spec = record.spec.as_deref().unwrap_or(&record.name);
                    let (agent, spec) = self.trusted(spec, &setup.game)?;
                    Plays::Agent { agent, spec }
                }
            });
        }
        Ok(players)
    }

    /// An agent that was already seated before the restart: no limit applies to it again.
    fn trusted(&self, text: &str, game: &GameRef) -> Result<(Arc<dyn Agent>, String), String> {
        let spec = self.config.opponents.named.get(text).map_or(text, String::as_str);
        let agent = ludex_agents::build(spec, game).map_err(|e| e.to_string())?;
        Ok((agent, text.to_owned()))
    }

    fn setup_of(&self, kept: &KeptMatch, restarts: u32) -> Result<(Setup, Secret), String> {
        let header: Header = serde_json::from_str(&kept.row.header).map_err(|e| e.to_string())?;
        let secret: Secret = serde_json::from_str(&kept.row.secret).map_err(|e| e.to_string())?;
        let game = ludex_env::load_with(&header.game, &header.params).map_err(|e| e.to_string())?;
        if game.spec().hash != header.hash {
            return Err(format!("its rules are {}, this server's are {}", header.hash, game.spec().hash));
        }
        let mut salt = [0; 16];
        hex::decode_to_slice(&secret.salt, &mut salt).map_err(|e| e.to_string())?;
        let setup = Setup {
            game,
            seats: secret.seats.iter().map(|s| s.setup.clone()).collect(),
            skip_forced: secret.skip_forced,
            seed: secret.seed.parse().map_err(|_| "its seed is no number".to_owned())?,
            salt,
            release: secret.release,
            grace_ms: self.config.limits.grace_ms,
            run: secret.run.clone(),
            pair: secret.pair.clone(),
            restarts,
            header,
        };
        Ok((setup, secret))
    }

    /// Ends a match that cannot go on.
    async fn bury(&self, id: &str, why: &str) -> Result<(), StoreError> {
        let footer = json!({ "reason": "infra_error", "ended": ludex_play::time::now_text() });
        let end = crate::store::EndRow {
            reason: "infra_error".into(),
            ended_ms: ludex_play::time::epoch_ms(),
            footer: footer.to_string(),
            record: json!({ "note": why }).to_string(),
        };
        self.store.write(vec![Write::MatchEnd { id: id.to_owned(), acts: Vec::new(), end }]).await
    }

    // ---- read-only pages ------------------------------------------------------------------------------------------

    fn listed(&self, game: Option<&str>, limit: usize, wanted: impl Fn(&Handle) -> bool) -> Vec<MatchEntry> {
        let live = lock(&self.live);
        let mut all: Vec<MatchEntry> = live.values().filter(|h| wanted(h)).map(|h| (*h.entry).clone()).collect();
        all.retain(|m| game.is_none_or(|g| m.game == g || m.game.split('(').next() == Some(g)));
        all.sort_by(|a, b| b.started_ms.cmp(&a.started_ms).then_with(|| a.match_id.cmp(&b.match_id)));
        all.truncate(limit);
        all
    }

    /// Whether an agent of this name and owner has a seat in a match.
    pub(super) fn plays_in(&self, id: &str, agent: &str, owner: Option<&str>) -> bool {
        self.entrants_named(agent, owner).iter().any(|e| e.seat(id).is_some())
    }

    /// A session from before a restart that nobody came back for ends after its time.
    pub(super) fn expire_later(self: &Arc<Self>, entrant: Arc<Entrant>) {
        let hub = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(hub.config.limits.grace_ms)).await;
            if !entrant.came() {
                hub.part(&entrant);
            }
        });
    }

    /// A session is over for good. While the server stops, sessions stay in the store for its return.
    pub(super) fn part(self: &Arc<Self>, entrant: &Arc<Entrant>) {
        if self.draining() {
            return;
        }
        self.drop_joins(&entrant.session);
        self.strike(&entrant.session);
        let (hub, id) = (self.clone(), entrant.session.clone());
        // Without a runtime the program is ending, and the store's own expiry serves.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = hub.store.write_behind(vec![Write::SessionGone { id }]).await {
                    tracing::debug!(%error, "the end of a session could not be kept");
                }
            });
        }
    }

    /// Returns when no match runs.
    pub async fn idle(&self) {
        while self.live_matches() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The list of matches that a client or a page asked for.
    pub fn matches(&self, which: &ListMatches) -> Matches {
        let limit = which.limit.min(LIST_LIMIT) as usize;
        let all = |h: &Handle| !which.live || h.live();
        Matches { matches: self.listed(which.game.as_deref(), limit, all) }
    }

    /// What everybody may see of an episode: the record when it is released, else its head and the public events.
    pub async fn episode(&self, id: &str) -> Option<Value> {
        let handle = self.handle(id);
        let kept = self.store.episode(id).await.unwrap_or_else(|error| {
            tracing::error!(id, %error, "an episode could not be read");
            None
        })?;
        if kept.released
            && let Some(end) = &kept.end
        {
            return serde_json::from_str(&end.record).ok();
        }
        let frames = match handle {
            Some(handle) => {
                let (tx, rx) = oneshot::channel();
                handle.send(Cmd::Public(tx));
                rx.await.unwrap_or_default()
            }
            None => self.retold(&kept),
        };
        let mut page: serde_json::Map<String, Value> = serde_json::from_str(&kept.row.header).unwrap_or_default();
        page.insert("events".into(), json!(frames));
        if let Some(end) = &kept.end
            && let Ok(Value::Object(footer)) = serde_json::from_str::<Value>(&end.footer)
        {
            let hidden = ["digest", "seed", "salt", "run", "pair"];
            page.extend(footer.into_iter().filter(|(k, _)| !hidden.contains(&k.as_str())));
        }
        Some(Value::Object(page))
    }

    /// The public events of a match that has no task any more.
    fn retold(&self, kept: &KeptMatch) -> Vec<ludex_protocol::server::MatchFrame> {
        let rows = rows_of(kept).ok();
        let restored =
            self.setup_of(kept, 0).ok().zip(rows).and_then(|((setup, _), rows)| Match::restore(setup, rows, 0).ok());
        restored.map(|(machine, _)| machine.public_events()).unwrap_or_default()
    }
}

/// Who holds a seat (of a match, its number), by what the sessions say.
type Holders = HashMap<(String, Seat), Arc<Entrant>>;

/// The log of a match.
fn rows_of(kept: &KeptMatch) -> Result<Vec<Kept>, String> {
    kept.acts.iter().map(|a| serde_json::from_str(&a.body).map_err(|e| e.to_string())).collect()
}

fn record_seat(s: &SeatPlan) -> RecordSeat {
    let spec = match &s.player {
        Plays::Agent { spec, .. } => Some(spec.clone()),
        Plays::Client(_) => None,
    };
    RecordSeat { name: s.name.clone(), version: s.version.clone(), kind: s.kind, spec }
}
