//! Matchmaking: joins by queue, joins against the server's agents, and joins by ticket of a run.
//!
//! A join becomes *due* after an event that may let it start a match: its arrival, the end of one of its matches, or
//! the return of its client. `Lobby::next` considers only due joins.

mod joins;
mod ladder;
mod pairs;
mod pending;
mod queue;
mod request;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ludex_env::{GameRef, Stream};
use ludex_gym::opponents::Opponent;
use ludex_gym::quotas::Share;
use ludex_play::machine::interface::{SeatPrompts, SeatSetup};
use ludex_protocol::message::{Join, Queued};
use ludex_protocol::record::RecordSeat;
use ludex_referee::schedule::may_share_seed;

pub(super) use self::joins::NewJoin;
pub(super) use self::pairs::{BlockMatch, ReservedSeed};
use self::pairs::{JoinBlock, Pairs};
use self::pending::PendingMatches;
pub use self::pending::{PendingMatch, PlannedSeat};
use self::queue::{Queue, QueueKey};
pub(super) use self::request::StoredJoin;
pub use self::request::shows;
use super::plan::{MatchPlan, MatchTerms, Occupant, RequestedTerms, SeatPlan};
use crate::sessions::Session;
use crate::standing_ladders::StandingLadder;

/// Maximum number of empty queues that are kept for their arrival statistics.
const EMPTY_QUEUES: usize = 256;

/// Join that still has matches to start or to finish.
struct WaitingJoin {
    kept: StoredJoin,
    session: Arc<Session>,
    /// Game to play; `None` for a join by ticket, since the ticket's run chooses the game.
    game: Option<GameRef>,
    kind: QueueKey,
    /// Ladder that the join entered, if any.
    ladder: Option<Arc<StandingLadder>>,
    /// Time at which the join entered its queue, in milliseconds.
    since: Option<u64>,
    /// Sequence number of the join's arrival.
    arrival: u64,
    /// Server agents that the join plays against: those in the request's field `against`, or an anchor of the ladder.
    against: Vec<Opponent>,
    /// Remaining matches; `None`: unlimited until `leave`.
    left: Option<u32>,
    played: u32,
    running: u32,
    /// Number of absences since the last played match.
    absences: u32,
    /// Time until which a join is not paired, in milliseconds.
    rests_until: u64,
    /// True if each match of the join is paired or has a mirror match.
    paired: bool,
    block: Option<String>,
    /// Number of earlier encounters within each group of joins, by the concatenated ids of the group. Only the join
    /// that arrived first in the group stores the number.
    met: HashMap<String, usize>,
    /// True if `queued` was sent since the last match.
    told: bool,
    /// True once the join is stored and its client has received the reply.
    ready: bool,
    /// True if the join is in the list of due joins.
    due: bool,
    /// Reserved shares of the owner's quotas.
    _shares: [Share; 2],
}

impl WaitingJoin {
    /// Returns the number of matches that the join may start now: the number of remaining matches, but at most the
    /// number of free slots. Returns 0 while the client is absent.
    fn room(&self) -> u32 {
        if !self.ready || !self.session.connected() {
            return 0;
        }
        let slots = self.request().slots.saturating_sub(self.running);
        self.left.map_or(slots, |left| left.min(slots))
    }

    fn request(&self) -> &Join {
        &self.kept.request
    }

    /// Returns true if the join finds its opponents in a queue.
    fn queues(&self) -> bool {
        self.against.is_empty() && self.request().ticket.is_none()
    }

    /// Returns true if each match of the join has a mirror match. Mirror matches replace pairs in games whose matches
    /// may not share a seed, if copies of one agent play all other seats.
    fn has_mirrors(&self) -> bool {
        let Some((first, others)) = self.against.split_first() else { return false };
        let same = others.iter().all(|o| o.spec.to_string() == first.spec.to_string());
        let fresh = self.game.as_ref().is_some_and(|game| !may_share_seed(game));
        self.paired && self.ladder.is_none() && same && fresh && !first.agent.is_io_bound()
    }

    fn is_done(&self) -> bool {
        self.left == Some(0) && self.running == 0
    }

    fn seat_plan(&self) -> SeatPlan {
        let setup = SeatSetup {
            remote: true,
            views: self.request().views.clone(),
            prompts: SeatPrompts::new(self.request().prompt.clone()),
            openspiel: self.request().layout.as_deref() == Some("openspiel"),
            join: Some(self.kept.id.clone()),
            variant: None,
            known: Default::default(),
        };
        let about = &self.session.about;
        let name = self.session.name().to_owned();
        SeatPlan {
            seat: RecordSeat {
                name,
                version: about.version.clone(),
                kind: about.kind,
                model: about.model.clone(),
                spec: None,
            },
            setup,
            occupant: Occupant::Client(self.session.clone()),
        }
    }
}

/// State of all joins and pending matches.
#[derive(Default)]
pub(super) struct Lobby {
    joins: HashMap<String, WaitingJoin>,
    /// Joins by session, in order of arrival.
    by_session: HashMap<String, Vec<String>>,
    by_ticket: HashMap<String, String>,
    queues: HashMap<QueueKey, Queue>,
    due: VecDeque<String>,
    /// Resting joins by the end of their rest, in milliseconds.
    resting: BTreeSet<(u64, String)>,
    arrivals: u64,
    plan: PendingMatches,
    /// Names of the runs that an agent has left since the last check.
    left: Vec<String>,
    /// Starts of matches that joins lose because they left between the matches of a pair.
    forfeits: Vec<LobbyAction>,
    blocks: HashMap<String, JoinBlock>,
    pub(super) pairs: Pairs,
}

/// Next step of the lobby.
pub(super) enum LobbyAction {
    /// Match to start. The lobby has already updated the joins of the match.
    Begins(Box<MatchPlan>, Box<StartRollback>),
    /// Notification for a waiting client.
    Waits(Arc<Session>, Queued),
}

/// Data for undoing a failed start.
pub(super) struct StartRollback {
    pub(super) joins: Vec<String>,
    planned: Option<(u64, PendingMatch)>,
    /// Block that the match belongs to, if any.
    block: Option<String>,
}

impl Lobby {
    // ---- joins ----------------------------------------------------------------------------------------------------

    fn insert(&mut self, mut waiting: WaitingJoin) {
        self.arrivals += 1;
        waiting.arrival = self.arrivals;
        let id = waiting.kept.id.clone();
        self.by_session.entry(waiting.session.id.clone()).or_default().push(id.clone());
        if let Some(ticket) = &waiting.request().ticket {
            self.by_ticket.insert(ticket.clone(), id.clone());
        }
        self.joins.insert(id, waiting);
    }

    /// Removes a join from its queue, its session and its block. The join loses the remaining matches of a rated block.
    pub(super) fn remove(&mut self, id: &str) {
        self.unqueue(id);
        self.forfeit_rest(id);
        self.cut_of(id);
        let Some(w) = self.joins.remove(id) else { return };
        if let Some(of) = self.by_session.get_mut(&w.session.id) {
            of.retain(|join| join != id);
            if of.is_empty() {
                self.by_session.remove(&w.session.id);
            }
        }
        if let Some(ticket) = &w.request().ticket {
            self.by_ticket.remove(ticket);
            self.left.push(w.request().game.clone());
        }
    }

    fn of_session<'a>(&'a self, session: &str) -> impl Iterator<Item = &'a WaitingJoin> {
        self.by_session.get(session).into_iter().flatten().filter_map(|id| self.joins.get(id))
    }

    /// Moves a join to another session.
    fn give(&mut self, id: &str, to: &Arc<Session>) {
        // The join enters the queue again once the client of the new session is present.
        self.unqueue(id);
        let Some(w) = self.joins.get_mut(id) else { return };
        let from = std::mem::replace(&mut w.session, to.clone());
        if let Some(of) = self.by_session.get_mut(&from.id) {
            of.retain(|join| join != id);
        }
        self.by_session.entry(to.id.clone()).or_default().push(id.to_owned());
    }

    /// Adds a join to the list of due joins.
    pub(super) fn call(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id)
            && !std::mem::replace(&mut w.due, true)
        {
            self.due.push_back(id.to_owned());
        }
    }

    /// Updates the joins of a session whose client has connected or disconnected.
    pub(super) fn presence(&mut self, session: &str, online: bool) {
        for id in self.by_session.get(session).cloned().unwrap_or_default() {
            if online { self.call(&id) } else { self.unqueue(&id) }
        }
    }

    /// Counts a finished match of a join. Returns true if it was the last match of the join.
    pub(super) fn ended(&mut self, id: &str) -> bool {
        let Some(w) = self.joins.get_mut(id) else { return false };
        w.running = w.running.saturating_sub(1);
        let done = w.is_done();
        if done {
            self.remove(id)
        } else {
            self.call(id)
        }
        done
    }

    /// Counts a match that was played, or from which the join was absent, at the time `now` in milliseconds. From the
    /// second absence in succession on, the join rests: 5 s, and twice as long each further time, at most 5 min.
    pub(super) fn count_show(&mut self, id: &str, played: bool, now: u64) {
        let Some(w) = self.joins.get_mut(id) else { return };
        w.absences = if played { 0 } else { w.absences + 1 };
        if let Some(further) = w.absences.checked_sub(2) {
            w.rests_until = now + (5_000 << further.min(6)).min(300_000);
            self.resting.insert((w.rests_until, id.to_owned()));
            self.unqueue(id);
        }
    }

    /// Calls the joins whose rest ended by `now`. Returns false if no rest ended.
    pub(super) fn end_rests(&mut self, now: u64) -> bool {
        let resting = self.resting.split_off(&(now + 1, String::new()));
        let rested = std::mem::replace(&mut self.resting, resting);
        rested.iter().for_each(|(_, id)| self.call(id));
        !rested.is_empty()
    }

    /// Counts a match that the join continues to play after a restart.
    pub(super) fn continues(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id) {
            w.running += 1;
        }
    }

    /// Returns the number of joins that could start a match.
    pub(super) fn waiting(&self) -> usize {
        self.joins.values().filter(|w| w.room() > 0).count()
    }

    /// Removes the joins without remaining or running matches, and returns their ids.
    pub(super) fn remove_done(&mut self) -> Vec<String> {
        let done: Vec<String> = self.joins.values().filter(|w| w.is_done()).map(|w| w.kept.id.clone()).collect();
        done.iter().for_each(|id| self.remove(id));
        done
    }

    // ---- what begins ----------------------------------------------------------------------------------------------

    /// Returns the next action for the due joins.
    pub(super) fn next(&mut self, now: u64) -> Option<LobbyAction> {
        if let Some(begins) = self.forfeits.pop().or_else(|| self.next_planned(None)) {
            return Some(begins);
        }
        while let Some(id) = self.due.front().cloned() {
            let begins = self.match_for(&id, now);
            if begins.is_some() {
                // The join stays due, since it may have room for more matches.
                return begins;
            }
            self.due.pop_front();
            let Some(w) = self.joins.get_mut(&id) else { continue };
            w.due = false;
            if w.queues() && w.room() > 0 && w.block.is_none() && !std::mem::replace(&mut w.told, true) {
                let session = w.session.clone();
                let queue = self.queues.get(&w.kind);
                let waiting = queue.map_or(0, |q| q.len() as u32);
                let eta_ms = queue.and_then(Queue::eta_ms);
                return Some(LobbyAction::Waits(session, Queued { join: id, waiting, eta_ms }));
            }
        }
        None
    }

    fn match_for(&mut self, id: &str, now: u64) -> Option<LobbyAction> {
        let w = self.joins.get(id).filter(|w| w.room() > 0)?;
        if let Some(ticket) = w.request().ticket.clone() {
            return self.next_planned(Some(&ticket));
        }
        if w.block.is_none() && w.rests_until > now {
            return None;
        }
        if w.queues() {
            return match w.block.clone() {
                Some(pair) => self.next_of_block(&pair, false),
                None => self.next_queued(id, now),
            };
        }
        self.next_against(id)
    }

    /// Starts the next match of a join against server agents.
    fn next_against(&mut self, id: &str) -> Option<LobbyAction> {
        let w = self.joins.get(id)?;
        let players = w.game.as_ref()?.spec().players;
        let seat = w.request().seat.unwrap_or(w.played % players) as usize;
        let mut seats: Vec<SeatPlan> = w.against.iter().map(server_seat).collect();
        seats.insert(seat.min(seats.len()), w.seat_plan());
        let mut asked = RequestedTerms { mirror: w.has_mirrors(), ..terms_of(w)? };
        let ids = vec![id.to_owned()];
        match w.block.clone() {
            Some(pair) => {
                asked.turn = self.block_turn(&pair);
                asked.pair = Some(pair);
            }
            None => asked.pair = self.begin_block(&ids),
        }
        Some(self.begins(MatchPlan { seats, terms: MatchTerms::Asked(asked) }, ids, None))
    }

    /// Matches a queued join with joins of the same queue that have compatible seats.
    fn next_queued(&mut self, id: &str, now: u64) -> Option<LobbyAction> {
        if self.queues.len() > EMPTY_QUEUES {
            self.queues.retain(|_, queue| queue.len() > 0);
        }
        let w = self.joins.get(id)?;
        let players = w.game.as_ref()?.spec().players;
        let queue = self.queues.entry(w.kind.clone()).or_insert_with(|| Queue::new(players, w.request().rated));
        if w.played == 0 && !w.told {
            queue.arrived(now);
        }
        queue.insert(w.request().seat, w.arrival, id, &w.session.account.name);
        if w.ladder.is_some() {
            // `pair_up` pairs the joins of a ladder: in every round, it considers all of them.
            let w = self.joins.get_mut(id)?;
            w.since.get_or_insert(now);
            return None;
        }
        let table = queue.table(w.request().seat, w.arrival)?;
        self.meet(&table)
    }

    /// Starts a match, or the first match of a pair, between queued joins. `table` lists the joins in order of arrival.
    fn meet(&mut self, table: &[String]) -> Option<LobbyAction> {
        let players = self.joins.get(table.first()?)?.game.as_ref()?.spec().players;
        let ids = self.place(table, players as usize);
        let seats = ids.iter().filter_map(|id| self.joins.get(id)).map(WaitingJoin::seat_plan).collect();
        let asked = terms_of(self.joins.get(&ids[0])?)?;
        let asked = RequestedTerms { pair: self.begin_block(&ids), ..asked };
        Some(self.begins(MatchPlan { seats, terms: MatchTerms::Asked(asked) }, ids, None))
    }

    /// Returns the ids of the joins in `table` in seat order. Each join that requested a seat gets this seat. The other
    /// joins are seated in a random order, which is rotated by one seat at each further encounter.
    fn place(&mut self, table: &[String], players: usize) -> Vec<String> {
        let mut seats: Vec<Option<String>> = vec![None; players];
        let mut rest = Vec::new();
        for id in table {
            let wish = self.joins.get(id).and_then(|w| w.request().seat);
            match wish.and_then(|seat| seats.get_mut(seat as usize)) {
                Some(seat) => *seat = Some(id.clone()),
                None => rest.push(id.clone()),
            }
        }
        // Join ids are random, so the draw is fair and cannot be influenced.
        let all = rest.concat();
        if let Some(first) = rest.first().and_then(|id| self.joins.get_mut(id)).filter(|_| rest.len() > 1) {
            Stream::from_text(&all).shuffle(&mut rest);
            let met = first.met.entry(all).or_default();
            rest.rotate_left(*met);
            *met = (*met + 1) % rest.len();
        }
        let mut rest = rest.into_iter();
        seats.into_iter().filter_map(|s| s.or_else(|| rest.next())).collect()
    }

    /// Returns the next pending match for `ticket` whose clients are all present. If `ticket` is `None`, considers only
    /// matches without tickets.
    fn next_planned(&mut self, ticket: Option<&str>) -> Option<LobbyAction> {
        let holder = |ticket: &str| self.by_ticket.get(ticket).and_then(|id| self.joins.get(id));
        let (n, joins) = self.plan.first(ticket, |m| {
            let tickets = m.tickets();
            let ready = tickets.iter().all(|ticket| holder(ticket).is_some_and(|w| w.room() > 0));
            ready.then(|| tickets.iter().filter_map(|ticket| self.by_ticket.get(*ticket).cloned()).collect::<Vec<_>>())
        })?;
        let planned = self.plan.take(n)?;
        let seat = |seat: &PlannedSeat| match seat {
            PlannedSeat::Ticket { ticket, name, variant, known } => holder(ticket).map(|w| {
                let mut plan = w.seat_plan();
                plan.seat.name.clone_from(name);
                plan.setup.variant.clone_from(variant);
                plan.setup.known.clone_from(known);
                plan
            }),
            PlannedSeat::Agent(opponent) => Some(server_seat(opponent)),
        };
        let seats = planned.seats.iter().filter_map(seat).collect();
        let terms = match &planned.kept {
            Some(kept) => MatchTerms::Kept(kept.clone()),
            None => MatchTerms::Planned(Box::new(planned.setup.clone())),
        };
        Some(self.begins(MatchPlan { seats, terms }, joins, Some((n, planned))))
    }

    /// Updates the joins of a starting match, and returns the action that starts the match.
    fn begins(&mut self, plan: MatchPlan, joins: Vec<String>, planned: Option<(u64, PendingMatch)>) -> LobbyAction {
        for id in &joins {
            let Some(w) = self.joins.get_mut(id) else { continue };
            w.running += 1;
            w.played += 1;
            w.told = false;
            if let Some(left) = &mut w.left {
                *left = left.saturating_sub(1);
            }
            if w.room() == 0 {
                self.unqueue(id);
            }
        }
        let block = match &plan.terms {
            MatchTerms::Asked(asked) => asked.pair.clone(),
            MatchTerms::Planned(_) | MatchTerms::Kept(_) => None,
        };
        LobbyAction::Begins(Box::new(plan), Box::new(StartRollback { joins, planned, block }))
    }

    /// Undoes a failed start and puts queued joins back into their queue. The lobby considers the joins of the match
    /// again at their next event.
    pub(super) fn take_back(&mut self, begun: StartRollback) {
        if let Some(pair) = &begun.block {
            self.cut(pair);
        }
        for id in &begun.joins {
            let Some(w) = self.joins.get_mut(id) else { continue };
            w.running = w.running.saturating_sub(1);
            w.played = w.played.saturating_sub(1);
            if let Some(left) = &mut w.left {
                *left += 1;
            }
            if w.queues()
                && w.room() > 0
                && let Some(queue) = self.queues.get_mut(&w.kind)
            {
                queue.insert(w.request().seat, w.arrival, id, &w.session.account.name);
            }
        }
        if let Some((n, planned)) = begun.planned {
            self.plan.put_back(n, planned);
        }
    }

    fn unqueue(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id) {
            w.since = None;
        }
        if let Some(w) = self.joins.get(id)
            && let Some(queue) = self.queues.get_mut(&w.kind)
        {
            queue.remove(w.request().seat, w.arrival);
        }
    }
}

fn server_seat(o: &Opponent) -> SeatPlan {
    SeatPlan {
        seat: o.record_seat(),
        setup: SeatSetup::default(),
        occupant: Occupant::Agent { agent: o.agent.clone(), spec: o.spec.to_string(), pace: o.pace.clone() },
    }
}

/// Returns the match settings that a join requests; `None` for a join by ticket.
fn terms_of(w: &WaitingJoin) -> Option<RequestedTerms> {
    Some(RequestedTerms {
        game: w.game.clone()?,
        rated: w.request().rated,
        clock: w.request().clock.clone(),
        pair: None,
        turn: 0,
        mirror: false,
        forfeit: None,
        arranged: w.request().rated
            && w.ladder.is_none()
            && if w.queues() { !w.request().is_open() } else { w.request().seat.is_some() },
        label: w.ladder.as_ref().and_then(|ladder| ladder.label()),
    })
}
