//! All sessions, with their clients, connections and seats. A session outlives its connections. Sessions are stored, so
//! that they also survive a restart of the server.

pub mod match_handle;
pub mod reply_cache;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ludex_env::Seat;
use ludex_gym::Gym;
use ludex_gym::quotas::{Account, Owners};
use ludex_protocol::error::{Close, ErrorCode, Refusal, close};
use ludex_protocol::message::{Draining, SeenFrames, TokenPrice};
use ludex_protocol::record::AgentKind;
use ludex_store::{SessionRow, TokenHash, Unkept, text};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::invited_run::InvitedRun;
use crate::mailbox::Mailbox;
use match_handle::{MatchCommand, MatchHandle};
use reply_cache::Replies;

/// Maximum number of finished matches per session that remain available to the client. If there are more, the oldest
/// ones are removed, even if the client has not acknowledged their end.
pub const ENDED: usize = 128;

/// Command for the task of a connection.
pub enum Control {
    /// A newer connection takes over the session: hand over the session's data and close with code 4002.
    Take(oneshot::Sender<Box<SessionData>>),
    /// The server is shutting down.
    Drain(Draining),
    Close(Close),
}

/// Data of a session, except its seats. The data belong to the task of the session's connection or, between
/// connections, to the session.
pub struct SessionData {
    pub replies: Replies,
    pub gym: Gym,
}

/// Returns the SHA-256 of a resume key in hex; the key itself is not stored.
pub fn hash(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

/// Identity of a client; fixed for the life of its session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientInfo {
    /// Agent name; empty for a client without one.
    #[serde(skip)]
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default)]
    pub kind: AgentKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Prices of the model, for the cost of moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
    /// Owner of the token; `None` for a guest on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// True if the token belongs to an owner that registered itself without an invitation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub registered: bool,
    /// Run that the token is limited to, if it invites a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invited: Option<Box<InvitedRun>>,
}

/// Session of one client.
pub struct Session {
    pub id: String,
    pub about: ClientInfo,
    /// Quota account of the session's owner.
    pub account: Arc<Account>,
    state: Mutex<State>,
}

struct State {
    /// Hash of the resume key. `None` if the session is missing in the store, so that only `reclaim` can find the
    /// session.
    key: Option<String>,
    /// Hash of the previous resume key. This key stays valid until the first message after `welcome`, since the client
    /// may not have received the new key.
    old_key: Option<String>,
    place: Place,
    /// Number of the latest connection or waiting period. Reports from earlier connections and waiting periods are
    /// ignored.
    generation: u64,
    mailbox: Option<Mailbox>,
    /// Token of the session's connection; `None` for a guest.
    token: Option<TokenHash>,
    matches: BTreeMap<String, SessionMatch>,
    /// Ids of finished matches, oldest first.
    ended: VecDeque<String>,
}

/// Match in which a session has seats.
#[derive(Clone)]
pub struct SessionMatch {
    pub handle: MatchHandle,
    /// Seats of the session, at least one. An agent has several seats only in matches of suites.
    pub seats: Vec<Seat>,
}

impl SessionMatch {
    /// Returns the seat that a client's message names. The name may be absent if the session has one seat.
    ///
    /// # Errors
    ///
    /// Fails with `not_your_seat` if the session does not have the seat, and with `bad_field` if it has several seats and the
    /// message names none.
    pub fn seat(&self, named: Option<u32>) -> Result<Seat, Box<Refusal>> {
        let seats = || self.seats.iter().map(|&seat| seat as u64).collect::<Vec<_>>();
        match (named, self.seats.as_slice()) {
            (None, &[seat]) => Ok(seat),
            (None, _) => {
                let text = "expected `seat`, since this session has several seats of the match";
                Err(Box::new(Refusal::new(ErrorCode::BadField, text).path("seat").allowed(seats())))
            }
            (Some(seat), held) if held.contains(&(seat as Seat)) => Ok(seat as Seat),
            (Some(seat), _) => {
                let e = Refusal::new(ErrorCode::NotYourSeat, format!("expected a seat of this session, got {seat}"));
                Err(Box::new(e.path("seat").got(seat).allowed(seats())))
            }
        }
    }
}

enum Place {
    /// Owned by a connection.
    Live(mpsc::UnboundedSender<Control>),
    /// Waiting for its client. The data are `None` after a restart.
    Waits(Option<Box<SessionData>>),
    /// Being handed over to another connection.
    Moving,
}

/// Error for a session that another connection has not handed over yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillMoving;

/// Connection of a session.
pub struct SessionConnection {
    /// Channel to the connection's task.
    pub control: mpsc::UnboundedSender<Control>,
    /// Mailbox of the client.
    pub mailbox: Mailbox,
    /// Sequence number of the connection.
    pub generation: u64,
    /// Token of the connection; `None` for a guest.
    pub token: Option<TokenHash>,
}

/// Result of resuming a session.
pub struct ResumedSession {
    pub session: Arc<Session>,
    /// Data of the session; `None` after a restart.
    pub work: Option<Box<SessionData>>,
}

impl Session {
    fn new(id: String, about: ClientInfo, account: Arc<Account>, place: Place) -> Self {
        let state = State {
            key: None,
            old_key: None,
            place,
            generation: 0,
            mailbox: None,
            token: None,
            matches: BTreeMap::new(),
            ended: VecDeque::new(),
        };
        Session { id, about, account, state: Mutex::new(state) }
    }

    /// Returns the agent name to use in matches.
    pub fn name(&self) -> &str {
        if self.about.agent.is_empty() { "anonymous" } else { &self.about.agent }
    }

    /// Returns the mailbox of the session's connection; `None` if the client is disconnected.
    pub fn mailbox(&self) -> Option<Mailbox> {
        self.state.lock().mailbox.clone()
    }

    /// Returns true if a client is connected.
    pub fn connected(&self) -> bool {
        self.state.lock().mailbox.is_some()
    }

    /// Sets a new resume key, which may be stored before the session is assigned to a connection.
    pub fn renew_key(&self, key: &str) {
        self.state.lock().key = Some(hash(key));
    }

    /// Assigns the session to a connection with a new resume key. The previous key stays valid until
    /// [`settle`](Self::settle). The client is present from now on.
    pub fn hold(&self, key: &str, line: SessionConnection) {
        let SessionConnection { control, mailbox, generation, token } = line;
        let mut s = self.state.lock();
        s.key = Some(hash(key));
        s.place = Place::Live(control);
        (s.mailbox, s.generation, s.token) = (Some(mailbox), generation, token);
    }

    /// Invalidates the previous resume key, since the client has used the new one.
    pub fn settle(&self) {
        self.state.lock().old_key = None;
    }

    /// Marks the connection `generation` as lost and notifies the session's matches. Returns false if a newer
    /// connection exists.
    pub fn disconnect(&self, generation: u64) -> bool {
        let mut s = self.state.lock();
        if s.generation != generation {
            return false;
        }
        s.mailbox = None;
        for SessionMatch { handle, seats } in s.matches.values() {
            for &seat in seats {
                handle.send(MatchCommand::Detach { seat, generation });
            }
        }
        true
    }

    /// Returns the session as a row of the store.
    ///
    /// # Errors
    ///
    /// Data that cannot be serialized.
    pub fn row(&self, expires_ms: i64) -> Result<SessionRow, Unkept> {
        let s = self.state.lock();
        Ok(SessionRow {
            id: self.id.clone(),
            key_hash: s.key.clone().ok_or_else(|| Unkept("expected a session with a key".to_owned()))?,
            old_key: s.old_key.clone(),
            agent: self.about.agent.clone(),
            body: text(&self.about)?,
            expires_ms,
        })
    }

    // ---- seats ----------------------------------------------------------------------------------------------------

    /// Adds a seat in a match that starts or was restored.
    pub fn take_seat(self: &Arc<Self>, id: &str, handle: &MatchHandle, seat: Seat) {
        handle.hold(seat, self);
        let mut s = self.state.lock();
        let new = || SessionMatch { handle: handle.clone(), seats: Vec::new() };
        s.matches.entry(id.to_owned()).or_insert_with(new).seats.push(seat);
        let generation = s.generation;
        match s.mailbox.clone() {
            Some(mailbox) => {
                let _ = handle.send(MatchCommand::Attach { seat, mailbox, generation, seen: None, resync: false });
            }
            None => drop(handle.send(MatchCommand::Detach { seat, generation })),
        }
    }

    /// Marks a match of the session as ended. If too many matches have ended, the oldest ones are removed.
    pub fn ended(&self, id: &str) {
        let mut s = self.state.lock();
        s.ended.push_back(id.to_owned());
        if s.ended.len() > ENDED
            && let Some(oldest) = s.ended.pop_front()
            && let Some(of) = s.matches.get(&oldest)
        {
            of.handle.send(MatchCommand::Forget);
        }
    }

    /// Removes the session's seats in a match.
    pub fn leave_seat(&self, id: &str) {
        let mut s = self.state.lock();
        s.matches.remove(id);
        // Usually the first entry, so the search is short.
        if let Some(at) = s.ended.iter().position(|ended| ended == id) {
            s.ended.remove(at);
        }
    }

    /// Sends the frames that the client missed at each seat: the frames after the number in `seen`, or a resync if `seen`
    /// lacks the seat. If `anew` is true, every seat gets a resync.
    pub fn catch_up(&self, seen: &BTreeMap<String, SeenFrames>, anew: bool) {
        let s = self.state.lock();
        let Some(mailbox) = &s.mailbox else { return };
        for (id, SessionMatch { handle, seats }) in &s.matches {
            for &seat in seats {
                let (mailbox, generation) = (mailbox.clone(), s.generation);
                let seen = seen.get(id).and_then(|seen| seen.of(seat as u32, seats.len() == 1));
                let resync = anew || seen.is_none();
                handle.send(MatchCommand::Attach { seat, mailbox, generation, seen, resync });
            }
        }
    }

    pub fn seats(&self) -> Vec<(MatchHandle, Seat)> {
        let s = self.state.lock();
        s.matches.values().flat_map(|of| of.seats.iter().map(|&seat| (of.handle.clone(), seat))).collect()
    }

    /// Returns the session's part in a match; `None` if the session has no seat in it.
    pub fn in_match(&self, id: &str) -> Option<SessionMatch> {
        self.state.lock().matches.get(id).cloned()
    }

    /// Returns true if the session has a seat in a match.
    pub fn plays_in(&self, id: &str) -> bool {
        self.state.lock().matches.contains_key(id)
    }

    /// Returns the number of the session's running matches.
    pub fn running(&self) -> usize {
        let s = self.state.lock();
        s.matches.len() - s.ended.len().min(s.matches.len())
    }

    /// Moves the session's seats in the matches selected by `of` to the session `to`. Returns the ids and seats of
    /// these matches.
    pub fn give_seats(&self, to: &Arc<Session>, of: impl Fn(&str) -> bool) -> Vec<(String, u32)> {
        let (matches, ended) = {
            let mut s = self.state.lock();
            let (matches, kept) = std::mem::take(&mut s.matches).into_iter().partition(|(id, _)| of(id));
            let (ended, rest) = std::mem::take(&mut s.ended).into_iter().partition::<VecDeque<_>, _>(|id| of(id));
            (s.matches, s.ended) = (kept, rest);
            (matches, ended)
        };
        let matches: BTreeMap<String, SessionMatch> = matches;
        let mut moved = Vec::new();
        for (id, SessionMatch { handle, seats }) in &matches {
            for &seat in seats {
                handle.hold(seat, to);
                moved.push((id.clone(), seat as u32));
            }
        }
        let mut s = to.state.lock();
        s.matches.extend(matches);
        s.ended.extend(ended);
        moved
    }
}

/// Table of all sessions.
#[derive(Default)]
pub struct Sessions {
    table: Mutex<Table>,
    pub owners: Owners,
    generations: AtomicU64,
}

#[derive(Default)]
struct Table {
    all: HashMap<String, Arc<Session>>,
    /// Session ids by agent name and owner.
    named: HashMap<(String, Option<String>), Vec<String>>,
}

impl Table {
    fn insert(&mut self, session: &Arc<Session>) {
        self.all.insert(session.id.clone(), session.clone());
        self.named.entry(name_of(session)).or_default().push(session.id.clone());
    }
}

fn name_of(session: &Session) -> (String, Option<String>) {
    (session.name().to_owned(), session.about.owner.clone())
}

impl Sessions {
    /// Returns a new number for a connection or a waiting period, above all earlier numbers.
    pub fn generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Creates a session for a new connection.
    pub fn create(&self, id: String, about: ClientInfo) -> Arc<Session> {
        let account = self.owners.account(about.owner.as_deref(), &id);
        let session = Arc::new(Session::new(id, about, account, Place::Moving));
        self.table.lock().insert(&session);
        session
    }

    /// Adds a session from before a restart. The session waits for its client. `key` is `None` if the session is
    /// missing in the store.
    pub fn restore(&self, id: String, about: ClientInfo, key: Option<String>, old_key: Option<String>) -> Arc<Session> {
        let account = self.owners.account(about.owner.as_deref(), &id);
        let session = Session::new(id, about, account, Place::Waits(None));
        {
            let mut s = session.state.lock();
            (s.key, s.old_key, s.generation) = (key, old_key, self.generation());
        }
        let session = Arc::new(session);
        self.table.lock().insert(&session);
        session
    }

    /// Returns the session with an id.
    pub fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.table.lock().all.get(id).cloned()
    }

    /// Returns the sessions with this agent name and owner.
    pub fn by_agent(&self, agent: &str, owner: Option<&str>) -> Vec<Arc<Session>> {
        let table = self.table.lock();
        let ids = table.named.get(&(agent.to_owned(), owner.map(str::to_owned)));
        ids.into_iter().flatten().filter_map(|id| table.all.get(id).cloned()).collect()
    }

    /// Returns the numbers of sessions with and without a connection.
    pub fn count(&self) -> (usize, usize) {
        let table = self.table.lock();
        let live = table.all.values().filter(|s| matches!(s.state.lock().place, Place::Live(_))).count();
        (live, table.all.len() - live)
    }

    /// Takes the session `id` if it belongs to `owner` and `key` matches; `None` for any other session. An older connection
    /// must hand the session over within the time `wait`. The caller then assigns the session with
    /// [`hold`](Session::hold).
    ///
    /// # Errors
    ///
    /// [`StillMoving`] if the session is not handed over in time, for example because the store is slow.
    pub async fn take(
        &self,
        id: &str,
        key: &str,
        owner: Option<&str>,
        wait: Duration,
    ) -> Result<Option<ResumedSession>, StillMoving> {
        let Some(session) = self.get(id).filter(|s| s.about.owner.as_deref() == owner) else { return Ok(None) };
        let shown = hash(key);
        let coming = {
            let mut s = session.state.lock();
            if s.key.as_ref() != Some(&shown) && (s.key.is_none() || s.old_key.as_ref() != Some(&shown)) {
                return Ok(None);
            }
            // The used key stays valid until the first message after `welcome`, since the client may miss the new key.
            s.old_key = Some(shown);
            match std::mem::replace(&mut s.place, Place::Moving) {
                Place::Waits(work) => {
                    drop(s);
                    return Ok(Some(ResumedSession { session, work }));
                }
                Place::Moving => return Err(StillMoving),
                Place::Live(control) => {
                    let (give, coming) = oneshot::channel();
                    // If the task has ended, the sender is dropped here, and the receiver fails.
                    let _ = control.send(Control::Take(give));
                    coming
                }
            }
        };
        match tokio::time::timeout(wait, coming).await {
            Ok(Ok(work)) => Ok(Some(ResumedSession { session, work: Some(work) })),
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(StillMoving),
        }
    }

    /// Parks the session of a lost connection and returns the number of its waiting period, for
    /// [`expire`](Self::expire). If a newer connection has requested the session, hands it over to that connection and
    /// returns `None`.
    pub fn park(
        &self,
        session: &Session,
        mut work: Box<SessionData>,
        control: &mut mpsc::UnboundedReceiver<Control>,
    ) -> Option<u64> {
        let mut s = session.state.lock();
        while let Ok(said) = control.try_recv() {
            if let Control::Take(give) = said {
                match give.send(work) {
                    Ok(()) => return None,
                    // The requesting connection has ended.
                    Err(back) => work = back,
                }
            }
        }
        s.place = Place::Waits(Some(work));
        s.generation = self.generation();
        Some(s.generation)
    }

    /// Returns the number of the current waiting period of a session without a connection.
    pub fn wait_of(&self, session: &Session) -> u64 {
        session.state.lock().generation
    }

    /// Removes the session if it is still in the waiting period `number`. Returns true if the session was
    /// [removed](Self::remove).
    pub fn expire(&self, session: &Session, number: u64) -> bool {
        let waits = {
            let s = session.state.lock();
            s.generation == number && matches!(s.place, Place::Waits(_))
        };
        waits && self.remove(session)
    }

    /// Removes a session. Returns false if the session was already removed.
    pub fn remove(&self, session: &Session) -> bool {
        let removed = {
            let mut table = self.table.lock();
            let name = name_of(session);
            if let Some(ids) = table.named.get_mut(&name) {
                ids.retain(|id| *id != session.id);
                if ids.is_empty() {
                    table.named.remove(&name);
                }
            }
            table.all.remove(&session.id)
        };
        // Dropped outside the lock, since thousands of environments may be freed.
        let work = match std::mem::replace(&mut session.state.lock().place, Place::Moving) {
            Place::Waits(work) => work,
            Place::Live(_) | Place::Moving => None,
        };
        drop(work);
        removed.is_some()
    }

    /// Returns the tokens of all connections.
    pub fn tokens(&self) -> HashSet<TokenHash> {
        let table = self.table.lock();
        let of = |session: &Arc<Session>| {
            let s = session.state.lock();
            s.token.filter(|_| matches!(s.place, Place::Live(_)))
        };
        table.all.values().filter_map(of).collect()
    }

    /// Closes connections as unauthorized if `is_void` returns true for their session and token.
    pub fn close_void(&self, is_void: impl Fn(&Session, Option<TokenHash>) -> bool) {
        for session in self.table.lock().all.values() {
            let s = session.state.lock();
            if let Place::Live(control) = &s.place
                && is_void(session, s.token)
            {
                let _ = control.send(Control::Close(close::UNAUTHORIZED));
            }
        }
    }

    /// Sends a command to every connection.
    pub fn broadcast(&self, said: impl Fn() -> Control) {
        for session in self.table.lock().all.values() {
            if let Place::Live(control) = &session.state.lock().place {
                let _ = control.send(said());
            }
        }
    }
}
