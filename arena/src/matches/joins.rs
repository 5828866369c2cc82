//! Requests of clients for the lobby, and execution of the lobby's actions.

use std::sync::Arc;
use std::time::Duration;

use ludex_env::GameRef;
use ludex_gym::check_search;
use ludex_gym::opponents::{Opponent, random_plies};
use ludex_gym::quotas::Resource;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{Join, Joined, Queued, ResumedJoin, ServerMessage};
use ludex_store::{JoinRow, Write};

use super::hub::{Hub, storage_failure};
use super::lobby::{LobbyAction, NewJoin, PendingMatch, StoredJoin, shows};
use crate::cells::queue_name;
use crate::sessions::Session;

/// Delay before a failed match start is retried.
const LATER: Duration = Duration::from_secs(1);

impl Hub {
    /// Processes a `join` request, then starts the matches that have become possible.
    pub async fn join(self: &Arc<Self>, session: &Arc<Session>, re: i64, request: Join) {
        let ticket = request.ticket.clone();
        let entered = self.enter(session, re, request).await;
        let Some(mailbox) = session.mailbox() else { return };
        match entered {
            Ok(id) => {
                mailbox.reply(re, ServerMessage::Joined(Joined { join: id.clone() }));
                self.ready(&id);
                if let Some((runs, ticket)) = self.runs().zip(ticket) {
                    runs.on_ticket(&ticket);
                }
            }
            Err(e) => mailbox.reply(re, *e),
        }
    }

    /// Marks a join as ready to start matches. Called after the client has received the reply.
    pub fn ready(self: &Arc<Self>, id: &str) {
        self.lobby.lock().ready(id);
        self.seat();
    }

    /// Adds a join. The join starts no match before it is [ready](Self::ready).
    pub async fn enter(&self, session: &Arc<Session>, re: i64, mut request: Join) -> Result<String, Box<Refusal>> {
        // If this request was executed before, the client repeats it because a crash lost the reply.
        if let Some(id) = self.lobby.lock().requested(&session.id, re) {
            return Ok(id);
        }
        if self.draining() {
            let message = "server is shutting down and accepts no new joins";
            return Err(Box::new(Refusal::new(ErrorCode::Draining, message)));
        }
        let (mut id, mut count) = (self.fresh_id('j')?, (request.count > 0).then_some(request.count));
        if let Some(ticket) = &request.ticket {
            self.check_cell(self.cell().of_id(ticket))?;
            let seat = self.runs().and_then(|runs| runs.seat_of(ticket, session.name()));
            // The run identifies the join.
            (request.game, id) = seat.ok_or_else(|| {
                let e = Refusal::new(ErrorCode::Forbidden, "expected a ticket issued for this agent name");
                Box::new(e.path("ticket"))
            })?;
            (request.count, count) = (0, None);
        }
        // The game of a join by ticket is known by its run.
        let game = match request.ticket {
            Some(_) => None,
            None => {
                let (catalogue, owner) = (&self.config.catalogue, &session.account.name);
                let game = catalogue.load_as(&self.compute, owner, &request.game, &request.params).await?;
                if request.against.is_some() {
                    // Measures and caches the length of random games in the pool. The limit on search needs it below.
                    let measured = game.clone();
                    let _ = self.compute.run(owner, move || random_plies(&measured)).await;
                }
                Some(game)
            }
        };
        if let Some(game) = &game {
            // A match with agents of the server needs no other client.
            if request.against.is_none() {
                self.check_cell(self.cell().of_name(&queue_name(&game.spec().string, &request.queue)))?;
            }
            self.enter_ladder(session, &mut request, game).await?;
        }
        if request.rated && request.seat.is_some() && request.against.is_none() && request.is_open() {
            let message = "expected no seat in rated matches of the queue open, which assigns all seats equally often";
            return Err(Box::new(Refusal::new(ErrorCode::BadField, message).path("seat").got(request.seat)));
        }
        let kept = StoredJoin { id: id.clone(), request, count, re };
        let row = kept.row(&session.id).map_err(|e| storage_failure(&e))?;
        // Repeated ticket: the existing join moves to the session that sent it.
        let again = self.lobby.lock().repeat(&id, session, re);
        if !again {
            self.wait(session, kept, game, 0)?;
        }
        // Stored before the reply, so that the client has the join after a crash.
        if let Err(error) = self.store.write(vec![Write::Join(row)]).await {
            if !again {
                self.lobby.lock().remove(&id);
            }
            return Err(storage_failure(&error));
        }
        Ok(id)
    }

    /// Restores a join from before a restart. `played` is the number of matches that the join has already played.
    ///
    /// # Errors
    ///
    /// The reason why the join cannot be restored.
    pub(in crate::matches) fn rejoin(&self, session: &Arc<Session>, row: JoinRow, played: u32) -> anyhow::Result<()> {
        let kept: StoredJoin = serde_json::from_str(&row.body)?;
        let kept = StoredJoin { id: row.id.clone(), ..kept };
        let load = || self.config.catalogue.load(&kept.request.game, &kept.request.params);
        let game = kept.request.ticket.is_none().then(load).transpose();
        let waits = game.and_then(|game| self.wait(session, kept, game, played));
        waits.map_err(|e| anyhow::anyhow!(e.message))?;
        self.lobby.lock().ready(&row.id);
        Ok(())
    }

    fn wait(
        &self,
        session: &Arc<Session>,
        kept: StoredJoin,
        game: Option<GameRef>,
        played: u32,
    ) -> Result<(), Box<Refusal>> {
        let r = &kept.request;
        self.has_room(session, r)?;
        let mut against = Vec::new();
        if let Some(game) = &game {
            shows(game, r)?;
            against = self.against(r, game)?;
        }
        let (limits, opponents) = (self.config.limits.get(), self.config.opponents.get());
        let cost = |o: &Opponent| game.as_ref().map_or(0, |game| opponents.plies(&o.spec, game));
        let steps = against.iter().map(cost).max().unwrap_or(0);
        check_search(steps, r.slots as usize, &limits).map_err(|e| Box::new(e.path("slots")))?;
        let share = |goods, count| session.account.take(goods, count, &limits);
        let shares =
            [share(Resource::Joins, 1)?, share(Resource::Matches, r.slots).map_err(|e| Box::new(e.path("slots")))?];
        let ladder = game.as_ref().and_then(|game| self.ladder_of(r, &game.spec().string));
        let paired = r.pairs.unwrap_or_else(|| self.config.pairs.default_of(r.rated));
        let session = session.clone();
        let new = NewJoin { kept, session, game, ladder, against, paired, played, shares };
        self.lobby.lock().add(new);
        Ok(())
    }

    /// Checks that the session's limits allow this join in addition to the session's other joins.
    fn has_room(&self, session: &Session, r: &Join) -> Result<(), Box<Refusal>> {
        let limits = self.config.limits.get();
        let most = limits.matches;
        let refusal = if r.slots == 0 || r.slots > most {
            let e = Refusal::new(ErrorCode::Limit, format!("slots: expected 1 to {most}, got {}", r.slots))
                .path("slots")
                .got(r.slots);
            e.allowed(format!("1 to {most}"))
        } else if self.lobby.lock().count_of(&session.id) >= limits.joins as usize {
            let most = limits.joins;
            let message = format!("expected at most {most} joins per session; leave one or wait for one to end");
            Refusal::new(ErrorCode::Limit, message).allowed(most)
        } else if session.running() + r.slots as usize > most as usize {
            let message = format!("expected at most {most} concurrent matches per session");
            Refusal::new(ErrorCode::Limit, message).allowed(most)
        } else {
            return Ok(());
        };
        Err(Box::new(refusal))
    }

    fn against(&self, r: &Join, game: &GameRef) -> Result<Vec<Opponent>, Box<Refusal>> {
        let Some(specs) = &r.against else { return Ok(Vec::new()) };
        let others = game.spec().players as usize - 1;
        if specs.len() != others && specs.len() != 1 {
            let e = Refusal::new(
                ErrorCode::BadShape,
                format!("expected {others} opponents for {}, or one for all other seats", r.game),
            );
            return Err(Box::new(e.path("against").got(specs.len()).allowed(others)));
        }
        let opponents = self.config.opponents.get();
        let seat = |k: usize| {
            let text = specs.get(k).unwrap_or(&specs[0]);
            let seated = opponents.seat(text, game, r.rated);
            seated.map_err(|e| Box::new(e.path("against").index(k.min(specs.len() - 1))))
        };
        (0..others).map(seat).collect()
    }

    /// Cancels the remaining matches of a join. Returns false if the session does not hold this join.
    pub async fn leave(self: &Arc<Self>, session: &Session, join: &str) -> bool {
        if !self.lobby.lock().leave(&session.id, join) {
            return false;
        }
        self.joins_gone(vec![join.to_owned()]).await;
        // Other joins may have waited for this one.
        self.seat();
        true
    }

    /// Removes finished joins from the store. The write is asynchronous: after a crash, a finished join may be restored
    /// without remaining matches.
    pub(in crate::matches) async fn joins_gone(&self, ids: Vec<String>) {
        let (writes, released) = self.end_joins(ids);
        if writes.is_empty() {
            return;
        }
        match self.store.write_behind(writes).await {
            Ok(()) => self.mark_released(&released),
            Err(error) => tracing::error!(%error, "storing the end of a join failed"),
        }
    }

    /// Returns the writes for the end of joins, and the matches that are released with them.
    pub(in crate::matches) fn end_joins(&self, ids: Vec<String>) -> (Vec<Write>, Vec<String>) {
        let (released, left) = {
            let mut lobby = self.lobby.lock();
            (lobby.pairs.take_due(), lobby.take_left())
        };
        if let Some(runs) = self.runs() {
            left.iter().filter(|run| runs.waits_for_agents(run)).for_each(|run| self.pause_run(run));
        }
        let mut writes: Vec<Write> = ids.into_iter().map(|id| Write::JoinGone { id }).collect();
        if !released.is_empty() {
            writes.push(Write::Released { ids: released.clone() });
        }
        (writes, released)
    }

    /// Returns the joins of a session, for `welcome`.
    pub fn joins_of(&self, session: &str) -> Vec<ResumedJoin> {
        self.lobby.lock().resumed(session)
    }

    /// Returns true if a session holds the join of a ticket.
    pub fn has_ticket(&self, ticket: &str) -> bool {
        self.lobby.lock().join_of(ticket).is_some()
    }

    /// Returns the session that holds the join of a ticket.
    pub fn holder(&self, ticket: &str) -> Option<Arc<Session>> {
        let lobby = self.lobby.lock();
        lobby.session_of(&lobby.join_of(ticket)?)
    }

    /// Returns true if the client that holds a ticket is connected.
    pub fn is_here(&self, ticket: &str) -> bool {
        self.holder(ticket).is_some_and(|session| session.connected())
    }

    /// Sends a message to the client that holds a ticket, if the client is connected.
    pub fn tell_holder(&self, ticket: &str, message: ServerMessage) {
        if let Some(mailbox) = self.holder(ticket).and_then(|session| session.mailbox()) {
            // A client that reads too slowly misses this event and receives the next one.
            let _ = mailbox.event(message);
        }
    }

    /// Removes the join of a ticket.
    pub async fn drop_ticket(&self, ticket: &str) {
        let join = self.lobby.lock().join_of(ticket);
        if let Some(join) = join {
            self.lobby.lock().remove(&join);
            self.joins_gone(vec![join]).await;
        }
    }

    /// Updates the joins of a session whose client has connected or disconnected, and starts the matches that have become
    /// possible.
    pub fn on_presence(self: &Arc<Self>, session: &str, online: bool) {
        self.lobby.lock().presence(session, online);
        if online {
            self.seat();
        }
    }

    /// Returns true if a session has joins.
    pub fn has_joins(&self, session: &str) -> bool {
        self.lobby.lock().has_joins(session)
    }

    /// Moves all joins of the session `from` to the session `to`.
    pub fn move_joins(&self, from: &str, to: &Arc<Session>) {
        self.lobby.lock().move_joins(from, to);
    }

    /// Removes the joins of a session, and returns their ids.
    pub(in crate::matches) fn drop_joins(&self, session: &str) -> Vec<String> {
        self.lobby.lock().remove_session(session)
    }

    /// Executes the lobby's actions.
    pub(in crate::matches) fn seat(self: &Arc<Self>) {
        while !self.draining() {
            let next = self.lobby.lock().next(self.now());
            let Some(next) = next else { return };
            self.carry_out(next);
        }
    }

    pub(in crate::matches) fn carry_out(self: &Arc<Self>, next: LobbyAction) {
        match next {
            LobbyAction::Waits(session, queued) => {
                if let Some(mailbox) = session.mailbox() {
                    let _ = mailbox.event(ServerMessage::Queued(queued));
                }
            }
            LobbyAction::Begins(plan, begun) => self.begin(*plan, begun),
        }
    }

    /// Notifies the clients of these joins that the joins are waiting, and retries the start later. By then, the cause
    /// of the failure, such as a full disk, may be gone.
    pub(in crate::matches) fn try_later(self: &Arc<Self>, joins: Vec<String>) {
        for id in &joins {
            let session = self.lobby.lock().session_of(id);
            let Some(mailbox) = session.and_then(|session| session.mailbox()) else { continue };
            let eta_ms = u64::try_from(LATER.as_millis()).ok();
            let _ = mailbox.event(ServerMessage::Queued(Queued { join: id.clone(), waiting: 1, eta_ms }));
        }
        let hub = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LATER).await;
            joins.iter().for_each(|id| hub.lobby.lock().call(id));
            hub.seat();
        });
    }

    /// Adds a pending match, which starts as soon as the holders of its tickets have joined.
    pub fn plan(self: &Arc<Self>, planned: PendingMatch) {
        self.lobby.lock().plan(planned);
        self.seat();
    }

    /// Removes a pending match. Returns false if the match has already started.
    pub fn unplan(&self, id: &str) -> bool {
        self.lobby.lock().unplan(id)
    }

    /// Removes the pending matches of a run, and notifies the run's thread. A match that is about to start still starts,
    /// and the run waits for its end.
    pub fn pause_run(&self, run: &str) {
        let gone = self.lobby.lock().unplan_run(run);
        if let Some(runs) = self.runs() {
            gone.iter().for_each(|id| runs.on_removal(id));
        }
    }
}
