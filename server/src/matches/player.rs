//! The match plane's side of a session: takes its requests, knows its seats, outlives its connections.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_protocol::Id;
use ludex_protocol::client::{Act, ClientMessage, ListMatches, Spectate, SpectatorView};
use ludex_protocol::error::{ErrorCode, Refusal, close};
use ludex_protocol::server::{HeldJoin, HeldMatch, ServerMessage};
use tokio::sync::{mpsc, oneshot};

use super::actor::{Cmd, Handle};
use super::entrant::Entrant;
use super::hub::Hub;
use super::mailbox::Mailbox;
use crate::auth::Scopes;
use crate::session::{Identity, Out};
use ludex_play::machine::terms::Input;

/// See the module.
pub struct Player {
    hub: Arc<Hub>,
    entrant: Arc<Entrant>,
    admin: bool,
    mailbox: Mailbox,
    generation: u64,
    /// Matches that it watches.
    watching: Vec<String>,
}

impl Player {
    /// A new session's player.
    pub fn new(hub: Arc<Hub>, who: Identity, mailbox: mpsc::Sender<Out>) -> Player {
        let scopes = who.scopes;
        let entrant = Entrant::new(&hub, who);
        Player::of(hub, entrant, scopes, mailbox)
    }

    /// The player of a session from before a restart. Nothing is sent before [`Player::resume`].
    pub fn of(hub: Arc<Hub>, entrant: Arc<Entrant>, scopes: Scopes, mailbox: mpsc::Sender<Out>) -> Player {
        let mailbox = Mailbox(mailbox);
        let generation = entrant.connect(&hub, mailbox.clone());
        Player { hub, entrant, admin: scopes.has(Scopes::ADMIN), mailbox, generation, watching: Vec::new() }
    }

    /// A new connection with these scopes takes over: what it has not `seen` goes to its mailbox, match by match; a
    /// resync where it names nothing.
    pub fn resume(&mut self, scopes: Scopes, mailbox: mpsc::Sender<Out>, seen: &BTreeMap<String, u64>) {
        self.admin = scopes.has(Scopes::ADMIN);
        self.mailbox = Mailbox(mailbox);
        self.generation = self.entrant.connect(&self.hub, self.mailbox.clone());
        self.watching.clear();
        self.entrant.catch_up(seen, false);
    }

    /// Changes the hash of the key that resumes the session, and keeps the session. The key that was `shown` stays good
    /// until [`settle`](Self::settle).
    pub async fn set_key(&self, key_hash: String, shown: Option<String>) {
        self.entrant.set_key(key_hash, shown);
        self.entrant.keep(&self.hub, self.at_stake()).await;
    }

    /// The client has its new key: the one before is dead.
    pub fn settle(&self) {
        self.entrant.settle();
    }

    /// The client is here: joins that waited for it go on.
    pub fn go_on(&self) {
        if !self.hub.joins_of(&self.entrant.session).is_empty() {
            self.hub.seat_soon();
        }
    }

    /// For `welcome`: seats and where they stand.
    pub async fn seats(&self) -> Vec<HeldMatch> {
        let mut held = Vec::new();
        for (_, handle, seat) in self.entrant.seats() {
            let (tx, rx) = oneshot::channel();
            handle.send(Cmd::Held(seat, tx));
            held.extend(rx.await);
        }
        held
    }

    /// For `welcome`: joins with what is left of them.
    pub fn joins(&self) -> Vec<HeldJoin> {
        self.entrant.held_joins(&self.hub)
    }

    /// Whether the session has a seat or waits for one: such a connection may be silent.
    pub fn at_stake(&self) -> bool {
        self.entrant.running() > 0 || !self.hub.joins_of(&self.entrant.session).is_empty()
    }

    /// Takes the seats and joins that other sessions of this agent name (and owner) hold; each comes with a resync. A
    /// live holder is closed as superseded.
    pub async fn reclaim(&self) {
        for other in self.hub.entrants_named(&self.entrant.agent, self.entrant.owner.as_deref()) {
            if other.session == self.entrant.session {
                continue;
            }
            let seats = other.yield_seats();
            let joins = !self.hub.joins_of(&other.session).is_empty();
            if seats.is_empty() && !joins {
                continue;
            }
            self.entrant.take_seats(seats);
            self.hub.move_joins(&other.session, &self.entrant);
            // Kept before this session says that it has them: after a crash nobody has them twice.
            other.keep(&self.hub, false).await;
            if let Some(mailbox) = other.mailbox() {
                let _ = mailbox.post(Out::Close(close::SUPERSEDED));
            }
        }
        self.entrant.catch_up(&BTreeMap::new(), true);
    }

    /// The connection is lost; seats are held, clocks run on.
    pub fn detach(&self) {
        if self.entrant.disconnect(self.generation) {
            for id in &self.watching {
                self.unwatch(id);
            }
        }
    }

    /// Takes a request of the match plane. Its answer comes through the mailbox. `ack` has none.
    pub async fn handle(&mut self, re: Option<Id>, message: ClientMessage) {
        // Frames are kept until the match is gone: an `ack`, the one message without an id, has nothing to do.
        let Some(re) = re else { return };
        match message {
            ClientMessage::Join(join) => self.hub.join(&self.entrant, re, *join).await,
            ClientMessage::Leave(leave) => {
                if self.hub.leave(&self.entrant, &leave.join).await {
                    self.reply(re, ServerMessage::Ok(Default::default()));
                } else {
                    self.reply(
                        re,
                        Refusal::new(ErrorCode::UnknownJoin, "this session has no such join").got(leave.join),
                    );
                }
            }
            ClientMessage::Act(act) => self.act(re, act),
            ClientMessage::Resign(resign) => match self.entrant.seat(&resign.match_id) {
                Some((handle, seat)) => self.tell(re, &handle, Cmd::Input(Input::Resign { seat, re })),
                None => self.reply(re, self.no_seat(&resign.match_id)),
            },
            ClientMessage::ListMatches(list) => self.list(re, &list),
            ClientMessage::Spectate(watch) => self.spectate(re, watch),
            ClientMessage::Unspectate(un) => {
                self.watching.retain(|id| *id != un.match_id);
                self.unwatch(&un.match_id);
                self.reply(re, ServerMessage::Ok(Default::default()));
            }
            _ => self.reply(re, Refusal::new(ErrorCode::Internal, "this is no request of the match plane")),
        }
    }

    fn reply(&self, re: Id, message: impl Into<ServerMessage>) {
        self.mailbox.reply(re, message);
    }

    /// Hands a request to a match, which answers it.
    fn tell(&self, re: Id, handle: &Handle, cmd: Cmd) {
        if !handle.send(cmd) {
            self.reply(re, Refusal::new(ErrorCode::MatchOver, "the match is over"));
        }
    }

    fn no_seat(&self, id: &str) -> Refusal {
        match self.hub.handle(id) {
            Some(_) => Refusal::new(ErrorCode::NotYourSeat, "this session has no seat in that match").got(id),
            None => Refusal::new(ErrorCode::UnknownMatch, "there is no such match").got(id),
        }
    }

    fn act(&self, re: Id, act: Box<Act>) {
        match self.entrant.seat(&act.match_id) {
            Some((handle, seat)) => self.tell(re, &handle, Cmd::Input(Input::Act { seat, re, act })),
            None => self.reply(re, self.no_seat(&act.match_id)),
        }
    }

    fn list(&self, re: Id, list: &ListMatches) {
        self.reply(re, ServerMessage::Matches(self.hub.matches(list)));
    }

    fn spectate(&mut self, re: Id, watch: Spectate) {
        let Some(handle) = self.hub.handle(&watch.match_id) else {
            return self.reply(re, Refusal::new(ErrorCode::UnknownMatch, "there is no such match").got(watch.match_id));
        };
        let full = watch.view == SpectatorView::Full;
        let seated = handle.seated.iter().flatten().any(|s| *s == self.entrant.session)
            || self.hub.plays_in(&watch.match_id, &self.entrant.agent, self.entrant.owner.as_deref());
        if full && !handle.is_released() && (seated || !self.admin) {
            let why = if seated {
                "an agent seated in a match cannot see what is hidden in it"
            } else {
                "view = full needs the scope admin until every match of the seed is over"
            };
            return self.reply(re, Refusal::new(ErrorCode::Forbidden, why).path("view"));
        }
        self.watching.retain(|id| *id != watch.match_id && self.hub.handle(id).is_some());
        let most = self.hub.config.limits.matches as usize;
        if self.watching.len() >= most {
            let e = Refusal::new(ErrorCode::Limit, "this session watches as many matches as it may");
            return self.reply(re, e.allowed(most));
        }
        self.watching.push(watch.match_id);
        let cmd = Cmd::Spectate {
            session: self.entrant.session.clone(),
            mailbox: self.mailbox.clone(),
            re,
            full,
            views: watch.views.unwrap_or_default(),
        };
        self.tell(re, &handle, cmd);
    }

    fn unwatch(&self, id: &str) {
        if let Some(handle) = self.hub.handle(id) {
            handle.send(Cmd::Unspectate { session: self.entrant.session.clone() });
        }
    }
}

impl Drop for Player {
    /// The session is over for good (nobody came back in time, or it was closed for a fault), unless the server stops:
    /// then it waits in the store.
    fn drop(&mut self) {
        self.detach();
        self.hub.part(&self.entrant);
    }
}
