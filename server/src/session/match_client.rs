//! Processor of the requests for the seats, joins and runs of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use ludex_env::Seat;
use ludex_play::machine::interface::Input;
use ludex_protocol::Id;
use ludex_protocol::error::{ErrorCode, Refusal, close};
use ludex_protocol::message::{
    Act, ClientMessage, ListMatches, ResumedJoin, ResumedMatch, SeenFrames, ServerMessage, Spectate, SpectatorView,
};
use ludex_store::Write;
use tokio::sync::oneshot;

use ludex_arena::mailbox::{Mailbox, MailboxItem};
use ludex_arena::matches::{Hub, RunObserver as _};
use ludex_arena::runs::Runs;
use ludex_arena::sessions::Session;
use ludex_arena::sessions::match_handle::{MatchCommand, MatchHandle};

/// Processor of the match requests of one connection.
pub struct MatchClient {
    hub: Arc<Hub>,
    runs: Arc<Runs>,
    session: Arc<Session>,
    /// True if the client may see hidden information.
    admin: bool,
    mailbox: Mailbox,
    /// Sequence number of the connection.
    generation: u64,
    /// Ids of the watched matches.
    watching: Vec<String>,
}

impl MatchClient {
    /// Creates the client for the connection number `generation` of a session.
    pub(crate) fn new(
        runs: Arc<Runs>,
        session: Arc<Session>,
        admin: bool,
        mailbox: Mailbox,
        generation: u64,
    ) -> MatchClient {
        MatchClient { hub: runs.hub.clone(), runs, session, admin, mailbox, generation, watching: Vec::new() }
    }

    /// Sends the frames of each seat after the frame number in `seen`, or a resync if `seen` lacks the seat or if `resync` is
    /// set. The client is present in its matches from now on.
    pub(crate) fn catch_up(&self, seen: &BTreeMap<String, SeenFrames>, resync: bool) {
        self.session.catch_up(seen, resync);
    }

    /// Marks the client as present, so that its joins may start matches.
    pub(crate) fn online(&self) {
        if self.hub.has_joins(&self.session.id) {
            self.hub.on_presence(&self.session.id, true);
        }
    }

    /// Returns the session's seats and their state, for `welcome`.
    pub(crate) async fn seats(&self) -> Vec<ResumedMatch> {
        let mut held = Vec::new();
        for (handle, seat) in self.session.seats() {
            let (tx, rx) = oneshot::channel();
            handle.send(MatchCommand::Held(seat, tx));
            held.extend(rx.await);
        }
        held
    }

    /// Returns the session's joins, each with its number of remaining matches, for `welcome`.
    pub(crate) fn joins(&self) -> Vec<ResumedJoin> {
        self.hub.joins_of(&self.session.id)
    }

    /// Returns true if the session has a seat or a join. A connection of such a session may be idle.
    pub(crate) fn at_stake(&self) -> bool {
        self.session.running() > 0 || self.hub.has_joins(&self.session.id)
    }

    /// Moves the seats and joins of this agent's other sessions to this session, which then [catches up](Self::catch_up).
    /// Sessions belong to one agent if their agent names and owners are equal. A connection that loses a seat or join
    /// is closed as superseded.
    pub(crate) async fn reclaim(&self) {
        let session = &self.session;
        for other in self.hub.sessions.by_agent(session.name(), session.about.owner.as_deref()) {
            if other.id == session.id {
                continue;
            }
            self.hub.recall_for(&other.id).await;
            let seats = other.give_seats(session, |_| true);
            if seats.is_empty() && !self.hub.has_joins(&other.id) {
                continue;
            }
            self.hub.move_joins(&other.id, session);
            // Stored before the reply, so that after a crash no two sessions hold the same seats.
            let moved = Write::Reclaimed { from: other.id.clone(), to: session.id.clone(), seats };
            if let Err(error) = self.hub.store.write_behind(vec![moved]).await {
                tracing::error!(session = %session.id, %error, "storing reclaimed seats failed");
            }
            if let Some(mailbox) = other.mailbox() {
                let _ = mailbox.post(MailboxItem::Close(close::SUPERSEDED));
            }
        }
    }

    /// Marks the connection as lost. The seats stay reserved, and their clocks stand still.
    pub(crate) fn detach(&self) {
        if self.session.disconnect(self.generation) {
            self.hub.on_presence(&self.session.id, false);
            self.watching.iter().for_each(|id| self.unwatch(id));
        }
    }

    /// Acknowledges all frames of ended matches, since the client needs none of them again.
    pub(crate) fn leave_ended(&self) {
        for (handle, seat) in self.session.seats().into_iter().filter(|(handle, _)| !handle.live()) {
            handle.send(MatchCommand::Ack { seat, seq: u64::MAX });
        }
    }

    /// Passes an acknowledgment of frames to its match.
    pub(crate) fn ack(&self, ack: &ludex_protocol::message::Ack) {
        // An acknowledgment gets no reply, so one for an unknown seat is ignored.
        if let Ok((handle, seat)) = self.seat(&ack.match_id, ack.seat) {
            handle.send(MatchCommand::Ack { seat, seq: ack.seq });
        }
    }

    /// Processes a request of the match plane and posts the reply to the mailbox. `at` is the time in milliseconds at
    /// which the request was read from the socket.
    pub(crate) async fn handle(&mut self, at: u64, re: Id, message: ClientMessage) {
        match message {
            ClientMessage::Join(_) if self.session.about.invited.is_some() => {
                let why = "expected enrol, got join; the token permits one run of a suite";
                self.reply(re, Refusal::new(ErrorCode::Forbidden, why));
            }
            ClientMessage::Join(join) => Box::pin(self.hub.join(&self.session, re, *join)).await,
            ClientMessage::Leave(leave) => {
                if Box::pin(self.hub.leave(&self.session, &leave.join)).await {
                    self.reply(re, ServerMessage::Ok(Default::default()));
                } else {
                    self.reply(
                        re,
                        Refusal::new(ErrorCode::UnknownJoin, "expected a join id of this session").got(leave.join),
                    );
                }
            }
            ClientMessage::Act(act) => self.act(at, re, act),
            ClientMessage::Resign(resign) => match self.seat(&resign.match_id, resign.seat) {
                Ok((handle, seat)) => self.tell(re, &handle, MatchCommand::Heard(at, Input::Resign { seat, re })),
                Err(refusal) => self.reply(re, *refusal),
            },
            ClientMessage::Suites(_) => self.reply(re, self.runs.suites()),
            ClientMessage::Enrol(enrol) => {
                // Planning a run takes time, so it is a separate task: meanwhile, the client may reconnect elsewhere.
                let (runs, session) = (self.runs.clone(), self.session.clone());
                tokio::spawn(async move { runs.enrol(&session, re, *enrol).await });
            }
            ClientMessage::Withdraw(withdraw) => {
                match Box::pin(self.runs.withdraw(&self.session, &withdraw.run)).await {
                    Ok(()) => self.reply(re, ServerMessage::Ok(Default::default())),
                    Err(refusal) => self.reply(re, *refusal),
                }
            }
            ClientMessage::ListMatches(list) => self.list(re, &list).await,
            ClientMessage::Spectate(watch) => self.spectate(re, watch).await,
            ClientMessage::Unspectate(un) => {
                self.watching.retain(|id| *id != un.match_id);
                self.unwatch(&un.match_id);
                self.reply(re, ServerMessage::Ok(Default::default()));
            }
            _ => self.reply(re, Refusal::new(ErrorCode::Internal, "expected a request of the match plane")),
        }
    }

    fn reply(&self, re: Id, message: impl Into<ServerMessage>) {
        self.mailbox.reply(re, message);
    }

    /// Passes a request to the task of a match, which sends the reply.
    fn tell(&self, re: Id, handle: &MatchHandle, cmd: MatchCommand) {
        if !handle.send(cmd) {
            self.reply(re, Refusal::new(ErrorCode::MatchOver, "the match is over"));
        }
    }

    /// Returns the seat of the session that a message names, with its match.
    fn seat(&self, id: &str, named: Option<u32>) -> Result<(MatchHandle, Seat), Box<Refusal>> {
        if let Some(of) = self.session.in_match(id) {
            return Ok((of.handle.clone(), of.seat(named)?));
        }
        Err(Box::new(match self.hub.handle(id) {
            Some(_) => {
                Refusal::new(ErrorCode::NotYourSeat, "expected a match in which this session has a seat").got(id)
            }
            None => Refusal::new(ErrorCode::UnknownMatch, "expected the id of a match").got(id),
        }))
    }

    fn act(&self, at: u64, re: Id, mut act: Box<Act>) {
        // The cost of tokens, for agents that state prices instead of dollars.
        if let Some(price) = self.session.about.price
            && let Some(notes) = &mut act.notes
            && let Some(tokens) = notes.tokens
        {
            notes.more.entry("usd").or_insert_with(|| price.cost(tokens).into());
        }
        match self.seat(&act.match_id, act.seat) {
            Ok((handle, seat)) => self.tell(re, &handle, MatchCommand::Heard(at, Input::Act { seat, re, act })),
            Err(refusal) => self.reply(re, *refusal),
        }
    }

    async fn list(&self, re: Id, list: &ListMatches) {
        match self.hub.matches(list).await {
            Ok(matches) => self.reply(re, ServerMessage::Matches(matches)),
            Err(error) => {
                tracing::error!(%error, "match listing failed");
                self.reply(re, Refusal::new(ErrorCode::Internal, "listing the matches failed; try again later"));
            }
        }
    }

    async fn spectate(&mut self, re: Id, watch: Spectate) {
        let Some(handle) = self.hub.handle(&watch.match_id) else {
            let cell = self.hub.cell_of_match(&watch.match_id).await;
            let moved = cell.and_then(|cell| self.hub.check_cell(cell).err());
            let unknown = || Refusal::new(ErrorCode::UnknownMatch, "expected the id of a match").got(watch.match_id);
            return self.reply(re, moved.map_or_else(unknown, |moved| *moved));
        };
        let full = watch.view == SpectatorView::Full;
        let session = &self.session;
        let seated = handle.seated(&session.id)
            || self.hub.plays_in(&watch.match_id, session.name(), session.about.owner.as_deref());
        if full && !handle.is_released() && (seated || !self.admin) {
            let why = if seated {
                "an agent seated in a match may not see its hidden information"
            } else {
                "view = full requires the scope admin until every match with this seed has ended"
            };
            return self.reply(re, Refusal::new(ErrorCode::Forbidden, why).path("view"));
        }
        if self.runs.hides(&watch.match_id) && (seated || !self.admin) {
            let why = "match is hidden until its season ends: other runs share its seeds";
            return self.reply(re, Refusal::new(ErrorCode::Forbidden, why).got(watch.match_id));
        }
        if let Err(refusal) = self.runs.check_visible(&watch.match_id, session.about.owner.as_deref(), self.admin) {
            return self.reply(re, *refusal);
        }
        self.watching.retain(|id| *id != watch.match_id && self.hub.handle(id).is_some());
        let most = self.hub.config.limits.get().matches as usize;
        if self.watching.len() >= most {
            let e = Refusal::new(ErrorCode::Limit, format!("expected at most {most} watched matches per session"));
            return self.reply(re, e.allowed(most));
        }
        self.watching.push(watch.match_id);
        let cmd = MatchCommand::Spectate {
            session: self.session.id.clone(),
            mailbox: self.mailbox.clone(),
            re,
            full,
            views: watch.views.unwrap_or_default(),
        };
        self.tell(re, &handle, cmd);
    }

    fn unwatch(&self, id: &str) {
        if let Some(handle) = self.hub.handle(id) {
            handle.send(MatchCommand::Unspectate { session: self.session.id.clone() });
        }
    }
}
