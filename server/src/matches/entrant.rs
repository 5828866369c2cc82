//! A session as the match plane sees it: its seats, its joins, and the way to its connection. It outlives connections,
//! and (by the store) the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use ludex_env::Seat;
use ludex_protocol::client::Join;
use ludex_protocol::record::AgentKind;
use ludex_protocol::server::HeldJoin;

use super::actor::{Cmd, Handle};
use super::hub::{Hub, lock};
use super::mailbox::Mailbox;
use crate::auth::Scopes;
use crate::session::Identity;
use crate::store::{SessionRow, Write};

/// See the module.
pub struct Entrant {
    /// The session's id.
    pub session: String,
    /// The agent's name.
    pub agent: String,
    /// Its version.
    pub version: Option<String>,
    /// What it is.
    pub kind: AgentKind,
    /// The token's owner.
    pub owner: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    mailbox: Option<Mailbox>,
    /// Number of the last connection (0: none came yet): what an older one says about itself does not count.
    generation: u64,
    key_hash: String,
    /// The key before, while the client may not know the new one.
    old_key: Option<String>,
    /// Whether the store had lost the session.
    lost: bool,
    seats: BTreeMap<String, (Handle, Seat)>,
}

/// What the store keeps of a session.
#[derive(Default, Serialize, Deserialize)]
struct Body {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default)]
    kind: AgentKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Hash of the key before, while the client may not know the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old_key: Option<String>,
    #[serde(default)]
    joins: Vec<KeptJoin>,
    /// Seats: matches and numbers.
    #[serde(default)]
    seats: Vec<(String, Seat)>,
}

/// A join with what is left of it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptJoin {
    pub(super) id: String,
    pub(super) request: Join,
    /// Matches to come; `None` = until `leave`.
    pub(super) left: Option<u32>,
    /// Matches begun.
    pub(super) played: u32,
    /// The request that asked for it: said again after a crash, it is this join.
    #[serde(default)]
    pub(super) re: i64,
}

impl Entrant {
    /// A new session, known to the hub from now on.
    pub(super) fn new(hub: &Hub, who: Identity) -> Arc<Entrant> {
        let agent = if who.agent.is_empty() { "anonymous".to_owned() } else { who.agent };
        let entrant = Arc::new(Entrant {
            session: who.session,
            agent,
            version: who.version,
            kind: who.kind,
            owner: who.owner,
            state: Mutex::default(),
        });
        hub.enrol(&entrant);
        entrant
    }

    /// A session from the store, after a restart: nobody is connected, its joins wait for it. With the seats it had.
    pub(super) async fn restored(hub: &Arc<Hub>, row: SessionRow) -> (Arc<Entrant>, Vec<(String, Seat)>) {
        let body: Body = serde_json::from_str(&row.body).unwrap_or_default();
        let who = Identity {
            session: row.id,
            agent: row.agent,
            version: body.version,
            kind: body.kind,
            scopes: Scopes::NONE,
            owner: body.owner,
        };
        let entrant = Entrant::new(hub, who);
        {
            let mut s = lock(&entrant.state);
            (s.key_hash, s.old_key) = (row.key_hash, body.old_key);
        }
        for join in body.joins {
            if let Err(error) = hub.rejoin(&entrant, join).await {
                tracing::warn!(session = %entrant.session, %error, "a join could not be brought back");
            }
        }
        hub.expire_later(entrant.clone());
        (entrant, body.seats)
    }

    /// A holder for a seat whose session the store has lost: only `reclaim` finds it.
    pub(super) fn lost(hub: &Arc<Hub>, session: &str, agent: &str, owner: Option<String>) -> Arc<Entrant> {
        let who = Identity {
            session: session.to_owned(),
            agent: agent.to_owned(),
            version: None,
            kind: AgentKind::Bot,
            scopes: Scopes::NONE,
            owner,
        };
        let entrant = Entrant::new(hub, who);
        lock(&entrant.state).lost = true;
        hub.expire_later(entrant.clone());
        entrant
    }

    /// Whether the store had lost it.
    pub(super) fn is_lost(&self) -> bool {
        lock(&self.state).lost
    }

    /// Whether a key of this hash resumes the session.
    pub fn opens(&self, key_hash: &str) -> bool {
        let s = lock(&self.state);
        !s.lost && (s.key_hash == key_hash || s.old_key.as_deref() == Some(key_hash))
    }

    /// A new connection; the number that it goes by.
    pub(super) fn connect(&self, hub: &Hub, mailbox: Mailbox) -> u64 {
        let mut s = lock(&self.state);
        s.mailbox = Some(mailbox);
        s.generation = hub.connection();
        s.generation
    }

    /// Whether anybody ever connected.
    pub(super) fn came(&self) -> bool {
        lock(&self.state).generation > 0
    }

    /// The way to the connection, if there is one.
    pub(crate) fn mailbox(&self) -> Option<Mailbox> {
        lock(&self.state).mailbox.clone()
    }

    /// Whether somebody is connected.
    pub fn connected(&self) -> bool {
        lock(&self.state).mailbox.is_some()
    }

    /// The connection `generation` is lost. `false` if a newer one is there.
    pub(super) fn disconnect(&self, generation: u64) -> bool {
        let mut s = lock(&self.state);
        if s.generation != generation {
            return false;
        }
        s.mailbox = None;
        for (handle, seat) in s.seats.values() {
            handle.send(Cmd::Detach { seat: *seat, generation });
        }
        true
    }

    /// Takes a seat in a match that begins or was brought back.
    pub(super) fn sit(&self, id: &str, handle: &Handle, seat: Seat) {
        let mut s = lock(&self.state);
        s.seats.insert(id.to_owned(), (handle.clone(), seat));
        let generation = s.generation;
        match s.mailbox.clone() {
            Some(mailbox) => drop(handle.send(Cmd::Attach { seat, mailbox, generation, seen: None, resync: false })),
            None => drop(handle.send(Cmd::Detach { seat, generation })),
        }
    }

    /// Leaves a match that is gone.
    pub(super) fn rise(&self, id: &str) {
        lock(&self.state).seats.remove(id);
    }

    /// Sends what was missed: events after `seen`, or a resync where nothing is named or `anew`.
    pub(super) fn catch_up(&self, seen: &BTreeMap<String, u64>, anew: bool) {
        let s = lock(&self.state);
        let Some(mailbox) = &s.mailbox else { return };
        for (id, (handle, seat)) in &s.seats {
            let (mailbox, generation) = (mailbox.clone(), s.generation);
            let cmd = Cmd::Attach {
                seat: *seat,
                mailbox,
                generation,
                seen: seen.get(id).copied(),
                resync: anew || !seen.contains_key(id),
            };
            handle.send(cmd);
        }
    }

    /// Where it sits.
    pub(super) fn seats(&self) -> Vec<(String, Handle, Seat)> {
        lock(&self.state).seats.iter().map(|(id, (h, s))| (id.clone(), h.clone(), *s)).collect()
    }

    /// Its seat in a match.
    pub(super) fn seat(&self, id: &str) -> Option<(Handle, Seat)> {
        lock(&self.state).seats.get(id).cloned()
    }

    /// How many of its matches run.
    pub(super) fn running(&self) -> usize {
        lock(&self.state).seats.values().filter(|(h, _)| h.live()).count()
    }

    /// Gives its seats away.
    pub(super) fn yield_seats(&self) -> BTreeMap<String, (Handle, Seat)> {
        std::mem::take(&mut lock(&self.state).seats)
    }

    /// Takes seats of another entrant over.
    pub(super) fn take_seats(&self, seats: BTreeMap<String, (Handle, Seat)>) {
        lock(&self.state).seats.extend(seats);
    }

    /// Sets the key that resumes the session; the `shown` one stays good until [`settle`](Self::settle).
    pub(super) fn set_key(&self, key_hash: String, shown: Option<String>) {
        let mut s = lock(&self.state);
        (s.key_hash, s.old_key) = (key_hash, shown);
    }

    /// The client knows its key.
    pub(super) fn settle(&self) {
        lock(&self.state).old_key = None;
    }

    /// The session as it is kept now.
    pub(super) fn row(&self, hub: &Hub) -> Write {
        let joins = hub.joins_of(&self.session);
        let s = lock(&self.state);
        let body = Body {
            version: self.version.clone(),
            kind: self.kind,
            owner: self.owner.clone(),
            old_key: s.old_key.clone(),
            joins,
            seats: s.seats.iter().map(|(id, (_, seat))| (id.clone(), *seat)).collect(),
        };
        Write::Session(SessionRow {
            id: self.session.clone(),
            key_hash: s.key_hash.clone(),
            agent: self.agent.clone(),
            token: None,
            body: serde_json::to_string(&body).unwrap_or_default(),
            expires_ms: ludex_play::time::epoch_ms().saturating_add(hub.config.limits.grace_ms as i64),
        })
    }

    /// Keeps the session as it is now. Behind: what is lost in a crash are the last joins of the last moment. With
    /// something at stake it waits until the key is durable, or a client could come back with one that nobody knows.
    pub(super) async fn keep(&self, hub: &Hub, at_stake: bool) {
        let write = vec![self.row(hub)];
        let kept = if at_stake { hub.store.write(write).await } else { hub.store.write_behind(write).await };
        if let Err(error) = kept {
            tracing::error!(session = %self.session, %error, "a session could not be kept");
        }
    }

    /// For `welcome`.
    pub(super) fn held_joins(&self, hub: &Hub) -> Vec<HeldJoin> {
        let held = |j: KeptJoin| HeldJoin { join: j.id, game: j.request.game, left: j.left };
        hub.joins_of(&self.session).into_iter().map(held).collect()
    }
}
