//! All sessions: who each client is, which connection it has, and which seats. A session outlives its connections, and
//! (by the store) the server.

pub(crate) mod match_handle;
pub(crate) mod reply_cache;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ludex_env::Seat;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::Draining;
use ludex_protocol::record::AgentKind;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::gym::Gym;
use crate::mailbox::Mailbox;
use crate::quotas::{Account, Owners};
use crate::store::{SessionRow, Unkept, text};
use crate::token::TokenHash;
use match_handle::{MatchCommand, MatchHandle};
use reply_cache::Replies;

/// Matches that are over and that a session can still be told about. Older ones are forgotten before their time.
pub(crate) const ENDED: usize = 128;

/// What the task of a connection is told.
pub(crate) enum Control {
    /// A newer connection takes the session: hand its work over and close with 4002.
    Take(oneshot::Sender<Box<SessionData>>),
    /// The server goes down.
    Drain(Draining),
    /// Close the connection.
    Close(Close),
}

/// What a session has beside its seats. The task of its connection holds it; between connections the session does.
pub(crate) struct SessionData {
    pub replies: Replies,
    pub gym: Gym,
}

/// SHA-256 of a resume key, in hex: all that is kept of it.
pub(crate) fn hash(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

/// Who a client is; fixed for the life of its session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClientInfo {
    /// The agent's name; empty for a client without one.
    #[serde(skip)]
    pub agent: String,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the agent is.
    #[serde(default)]
    pub kind: AgentKind,
    /// The token's holder; absent for a guest on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// One client.
pub struct Session {
    /// Its id.
    pub id: String,
    pub(crate) about: ClientInfo,
    /// What the sessions of its owner hold together.
    pub(crate) account: Arc<Account>,
    state: Mutex<State>,
}

struct State {
    /// The hash of the key that resumes it; absent where the store has lost the session: then only `reclaim` finds it.
    key: Option<String>,
    /// The key before, good until the first message after `welcome`: the client may never have read the new one.
    old_key: Option<String>,
    place: Place,
    /// The number of the last connection or wait: what an older one says about itself does not count.
    generation: u64,
    mailbox: Option<Mailbox>,
    /// The token of its connection; absent for a guest.
    token: Option<TokenHash>,
    seats: BTreeMap<String, (MatchHandle, Seat)>,
    /// The matches among them that are over, oldest first.
    ended: VecDeque<String>,
}

enum Place {
    /// A connection has it.
    Live(mpsc::UnboundedSender<Control>),
    /// It waits for its client, without any work if it comes from before a restart.
    Waits(Option<Box<SessionData>>),
    /// It is on its way to another connection.
    Moving,
}

/// A connection, as its session knows it.
pub(crate) struct SessionConnection {
    /// The way to its task.
    pub control: mpsc::UnboundedSender<Control>,
    /// The way to its client.
    pub mailbox: Mailbox,
    /// Its number.
    pub generation: u64,
    /// The token that was shown; absent for a guest.
    pub token: Option<TokenHash>,
}

/// What a client that resumes gets.
pub(crate) struct ResumedSession {
    pub session: Arc<Session>,
    /// Absent for a session from before a restart.
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
            seats: BTreeMap::new(),
            ended: VecDeque::new(),
        };
        Session { id, about, account, state: Mutex::new(state) }
    }

    /// The name that it plays under.
    pub(crate) fn name(&self) -> &str {
        if self.about.agent.is_empty() { "anonymous" } else { &self.about.agent }
    }

    /// The way to its connection, if there is one.
    pub(crate) fn mailbox(&self) -> Option<Mailbox> {
        self.state.lock().mailbox.clone()
    }

    /// Whether somebody is connected.
    pub(crate) fn connected(&self) -> bool {
        self.state.lock().mailbox.is_some()
    }

    /// A connection has it, under a new key. The key that was shown to resume it stays good until
    /// [`settle`](Self::settle).
    pub(crate) fn hold(&self, key: &str, line: SessionConnection) {
        let SessionConnection { control, mailbox, generation, token } = line;
        let mut s = self.state.lock();
        s.key = Some(hash(key));
        s.place = Place::Live(control);
        (s.mailbox, s.generation, s.token) = (Some(mailbox), generation, token);
    }

    /// The client knows its key: the one before is void.
    pub(crate) fn settle(&self) {
        self.state.lock().old_key = None;
    }

    /// The connection `generation` is lost; its seats are told. False if a newer one is there.
    pub(crate) fn disconnect(&self, generation: u64) -> bool {
        let mut s = self.state.lock();
        if s.generation != generation {
            return false;
        }
        s.mailbox = None;
        for (handle, seat) in s.seats.values() {
            handle.send(MatchCommand::Detach { seat: *seat, generation });
        }
        true
    }

    /// As it is kept.
    ///
    /// # Errors
    /// What keeps it from being written down.
    pub(crate) fn row(&self, expires_ms: i64) -> Result<SessionRow, Unkept> {
        let s = self.state.lock();
        Ok(SessionRow {
            id: self.id.clone(),
            key_hash: s.key.clone().ok_or_else(|| Unkept("a session without a key".to_owned()))?,
            old_key: s.old_key.clone(),
            agent: self.about.agent.clone(),
            body: text(&self.about)?,
            expires_ms,
        })
    }

    // ---- seats ----------------------------------------------------------------------------------------------------

    /// Takes a seat in a match that begins or was brought back.
    pub(crate) fn take_seat(self: &Arc<Self>, id: &str, handle: &MatchHandle, seat: Seat) {
        handle.hold(seat, self);
        let mut s = self.state.lock();
        s.seats.insert(id.to_owned(), (handle.clone(), seat));
        let generation = s.generation;
        match s.mailbox.clone() {
            Some(mailbox) => {
                drop(handle.send(MatchCommand::Attach { seat, mailbox, generation, seen: None, resync: false }))
            }
            None => drop(handle.send(MatchCommand::Detach { seat, generation })),
        }
    }

    /// A match that it has a seat in is over. When there are many of these, the oldest one is forgotten.
    pub(crate) fn ended(&self, id: &str) {
        let mut s = self.state.lock();
        s.ended.push_back(id.to_owned());
        if s.ended.len() > ENDED
            && let Some(oldest) = s.ended.pop_front()
            && let Some((handle, _)) = s.seats.get(&oldest)
        {
            handle.send(MatchCommand::Forget);
        }
    }

    /// Leaves a match that is gone.
    pub(crate) fn leave_seat(&self, id: &str) {
        let mut s = self.state.lock();
        s.seats.remove(id);
        // As a rule it is the oldest.
        if let Some(at) = s.ended.iter().position(|ended| ended == id) {
            s.ended.remove(at);
        }
    }

    /// Sends what was missed: events after `seen`, or a resync where nothing is named or `anew`.
    pub(crate) fn catch_up(&self, seen: &BTreeMap<String, u64>, anew: bool) {
        let s = self.state.lock();
        let Some(mailbox) = &s.mailbox else { return };
        for (id, (handle, seat)) in &s.seats {
            let (mailbox, generation) = (mailbox.clone(), s.generation);
            let (seen, resync) = (seen.get(id).copied(), anew || !seen.contains_key(id));
            handle.send(MatchCommand::Attach { seat: *seat, mailbox, generation, seen, resync });
        }
    }

    /// Where it sits.
    pub(crate) fn seats(&self) -> Vec<(MatchHandle, Seat)> {
        self.state.lock().seats.values().cloned().collect()
    }

    /// Its seat in a match.
    pub(crate) fn seat(&self, id: &str) -> Option<(MatchHandle, Seat)> {
        self.state.lock().seats.get(id).cloned()
    }

    /// How many of its matches run.
    pub(crate) fn running(&self) -> usize {
        let s = self.state.lock();
        s.seats.len() - s.ended.len().min(s.seats.len())
    }

    /// Gives its seats in these matches to another session; the matches and seats.
    pub(crate) fn give_seats(&self, to: &Arc<Session>, of: impl Fn(&str) -> bool) -> Vec<(String, u32)> {
        let (seats, ended) = {
            let mut s = self.state.lock();
            let (seats, kept) = std::mem::take(&mut s.seats).into_iter().partition(|(id, _)| of(id));
            let (ended, rest) = std::mem::take(&mut s.ended).into_iter().partition::<VecDeque<_>, _>(|id| of(id));
            (s.seats, s.ended) = (kept, rest);
            (seats, ended)
        };
        let seats: BTreeMap<String, (MatchHandle, Seat)> = seats;
        let moved = seats.iter().map(|(id, (_, seat))| (id.clone(), *seat as u32)).collect();
        seats.values().for_each(|(handle, seat)| handle.hold(*seat, to));
        let mut s = to.state.lock();
        s.seats.extend(seats);
        s.ended.extend(ended);
        moved
    }
}

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    table: Mutex<Table>,
    pub owners: Owners,
    generations: AtomicU64,
}

#[derive(Default)]
struct Table {
    all: HashMap<String, Arc<Session>>,
    /// Those of each agent name and owner.
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
    /// A number above all that were given before.
    pub fn generation(&self) -> u64 {
        self.generations.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A new session, on its way to its connection.
    pub fn create(&self, id: String, about: ClientInfo) -> Arc<Session> {
        let account = self.owners.account(about.owner.as_deref(), &id);
        let session = Arc::new(Session::new(id, about, account, Place::Moving));
        self.table.lock().insert(&session);
        session
    }

    /// A session from before a restart, which waits for its client; `key` is absent if the store has lost it.
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

    /// The session of an id.
    pub fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.table.lock().all.get(id).cloned()
    }

    /// The sessions of an agent's name and owner.
    pub fn by_agent(&self, agent: &str, owner: Option<&str>) -> Vec<Arc<Session>> {
        let table = self.table.lock();
        let ids = table.named.get(&(agent.to_owned(), owner.map(str::to_owned)));
        ids.into_iter().flatten().filter_map(|id| table.all.get(id).cloned()).collect()
    }

    /// How many sessions there are: with a connection, and waiting.
    pub fn count(&self) -> (usize, usize) {
        let table = self.table.lock();
        let live = table.all.values().filter(|s| matches!(s.state.lock().place, Place::Live(_))).count();
        (live, table.all.len() - live)
    }

    /// The session `id`, if `key` opens it and it belongs to `owner`: from its wait, or from an older connection, which
    /// has the time `wait` to hand it over. The caller [holds](Session::hold) it.
    pub async fn take(&self, id: &str, key: &str, owner: Option<&str>, wait: Duration) -> Option<ResumedSession> {
        let session = self.get(id).filter(|s| s.about.owner.as_deref() == owner)?;
        let shown = hash(key);
        let coming = {
            let mut s = session.state.lock();
            if s.key.as_ref() != Some(&shown) && (s.key.is_none() || s.old_key.as_ref() != Some(&shown)) {
                return None;
            }
            // The client knows the key that it shows, until it says something under the new one.
            s.old_key = Some(shown);
            match std::mem::replace(&mut s.place, Place::Moving) {
                Place::Waits(work) => {
                    drop(s);
                    return Some(ResumedSession { session, work });
                }
                Place::Moving => return None,
                Place::Live(control) => {
                    let (give, coming) = oneshot::channel();
                    // If its task is gone the sender is dropped here, and nothing comes.
                    let _ = control.send(Control::Take(give));
                    coming
                }
            }
        };
        let work = tokio::time::timeout(wait, coming).await.ok()?.ok()?;
        Some(ResumedSession { session, work: Some(work) })
    }

    /// The connection is lost: the session waits, or goes to the connection that asked for it meanwhile. Returns the
    /// number to [expire](Self::expire) it by, if it waits.
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
                    // The connection that asked has gone.
                    Err(back) => work = back,
                }
            }
        }
        s.place = Place::Waits(Some(work));
        s.generation = self.generation();
        Some(s.generation)
    }

    /// The number of the wait of a session without a connection.
    pub fn wait_of(&self, session: &Session) -> u64 {
        session.state.lock().generation
    }

    /// Whether the session still waits as `number`. If so it is [removed](Self::remove).
    pub fn expire(&self, session: &Session, number: u64) -> bool {
        let waits = {
            let s = session.state.lock();
            s.generation == number && matches!(s.place, Place::Waits(_))
        };
        waits && self.remove(session)
    }

    /// The session is over; false if it was so before.
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
        // Thousands of environments may go with it: not under a lock.
        let work = match std::mem::replace(&mut session.state.lock().place, Place::Moving) {
            Place::Waits(work) => work,
            Place::Live(_) | Place::Moving => None,
        };
        drop(work);
        removed.is_some()
    }

    /// The tokens of all connections.
    pub fn tokens(&self) -> HashSet<TokenHash> {
        let table = self.table.lock();
        let of = |session: &Arc<Session>| {
            let s = session.state.lock();
            s.token.filter(|_| matches!(s.place, Place::Live(_)))
        };
        table.all.values().filter_map(of).collect()
    }

    /// Closes every connection that came with one of these tokens.
    pub fn close_those_of(&self, tokens: &HashSet<TokenHash>) {
        for session in self.table.lock().all.values() {
            let s = session.state.lock();
            if let Place::Live(control) = &s.place
                && s.token.is_some_and(|token| tokens.contains(&token))
            {
                let _ = control.send(Control::Close(close::UNAUTHORIZED));
            }
        }
    }

    /// Says the same to every connection.
    pub fn broadcast(&self, said: impl Fn() -> Control) {
        for session in self.table.lock().all.values() {
            if let Place::Live(control) = &session.state.lock().place {
                let _ = control.send(said());
            }
        }
    }
}
