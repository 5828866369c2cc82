//! Who waits for whom: joins by queue, against the server's agents, and by ticket of a plan.
//!
//! A join is *due* when something happened that may bring it a match: it came, one of its matches ended, its client came
//! back. `Lobby::next` looks at those that are due, and at no others.

mod joins;
mod ladder;
mod pairs;
mod pending;
mod queue;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ludex_env::{GameRef, Stream};
use ludex_play::machine::interface::SeatSetup;
use ludex_protocol::message::{Join, Queued};
use ludex_protocol::record::AgentKind;
use ludex_referee::schedule::may_share_seed;

use self::joins::StoredJoin;
pub(crate) use self::joins::shows;
pub(super) use self::pairs::{BlockMatch, ReservedSeed};
use self::pairs::{JoinBlock, Pairs};
use self::pending::PendingMatches;
pub(crate) use self::pending::{PendingMatch, PlannedSeat};
use self::queue::{Queue, QueueKey};
use super::hub::{AgentOptions, MatchPlan, MatchTerms, Occupant, RequestedTerms, SeatPlan};
use crate::opponents::Opponent;
use crate::quotas::Share;
use crate::sessions::Session;
use crate::standing_ladders::StandingLadder;

/// Queues that nobody waits in, kept for what they know about arrivals.
const EMPTY_QUEUES: usize = 256;

/// A join that is waiting or playing.
struct WaitingJoin {
    kept: StoredJoin,
    session: Arc<Session>,
    /// The game; a join by ticket plays what the plan says.
    game: Option<GameRef>,
    kind: QueueKey,
    /// The ladder that it entered.
    ladder: Option<Arc<StandingLadder>>,
    /// When it began to wait in its queue.
    since: Option<u64>,
    /// Its number in order of arrival.
    arrival: u64,
    /// The server's agents, for joins `against`, and for those of a ladder while they meet an anchor.
    against: Vec<Opponent>,
    /// Matches to come; absent = until `leave`.
    left: Option<u32>,
    played: u32,
    running: u32,
    /// Whether its matches come in pairs, or each has a mirror.
    paired: bool,
    /// The block that it plays in.
    block: Option<String>,
    /// How often it has met others in the queue, by their joins, where it was the first to arrive.
    met: HashMap<String, usize>,
    /// Whether `queued` was sent since the last match.
    told: bool,
    /// Whether it is kept and its client was told.
    ready: bool,
    /// Whether it is on the list of those that are due.
    due: bool,
    /// What it counts for among all that its owner holds.
    _shares: [Share; 2],
}

impl WaitingJoin {
    /// How many matches may begin for it now: those to come, as far as there is room and its client is there.
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

    /// Whether it waits in a queue.
    fn queues(&self) -> bool {
        self.against.is_empty() && self.request().ticket.is_none()
    }

    /// Whether the server plays a mirror of each of its matches: where a seed cannot be used twice, and the same agent has
    /// all the other seats.
    fn has_mirrors(&self) -> bool {
        let Some((first, others)) = self.against.split_first() else { return false };
        let same = others.iter().all(|o| o.spec.to_string() == first.spec.to_string());
        let fresh = self.game.as_ref().is_some_and(|game| !may_share_seed(game));
        self.paired && self.ladder.is_none() && same && fresh && !first.agent.is_io_bound()
    }

    fn done(&self) -> bool {
        self.left == Some(0) && self.running == 0
    }

    fn seat_plan(&self) -> SeatPlan {
        let setup = SeatSetup {
            remote: true,
            views: self.request().views.clone(),
            openspiel: self.request().layout.as_deref() == Some("openspiel"),
            join: Some(self.kept.id.clone()),
        };
        SeatPlan {
            name: self.session.name().to_owned(),
            version: self.session.about.version.clone(),
            kind: self.session.about.kind,
            setup,
            guard: AgentOptions::default(),
            occupant: Occupant::Client(self.session.clone()),
        }
    }
}

/// What waits.
#[derive(Default)]
pub(super) struct Lobby {
    joins: HashMap<String, WaitingJoin>,
    /// The joins of each session, in order of arrival.
    by_session: HashMap<String, Vec<String>>,
    by_ticket: HashMap<String, String>,
    queues: HashMap<QueueKey, Queue>,
    due: VecDeque<String>,
    arrivals: u64,
    plan: PendingMatches,
    /// Runs that an agent has left since this was last looked at.
    left: Vec<String>,
    blocks: HashMap<String, JoinBlock>,
    pub(super) pairs: Pairs,
}

/// What comes next.
pub(super) enum LobbyAction {
    /// A match begins. Its joins are counted already.
    Begins(Box<MatchPlan>, Box<StartRollback>),
    /// The client of a join is told that it waits.
    Waits(Arc<Session>, Queued),
}

/// What to take back if a match could not begin.
pub(super) struct StartRollback {
    joins: Vec<String>,
    planned: Option<(u64, PendingMatch)>,
    /// The block that it is part of.
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

    fn remove(&mut self, id: &str) {
        self.unqueue(id);
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

    /// Gives a join to another session.
    fn give(&mut self, id: &str, to: &Arc<Session>) {
        // It waits again, with its new owner, when the session is there.
        self.unqueue(id);
        let Some(w) = self.joins.get_mut(id) else { return };
        let from = std::mem::replace(&mut w.session, to.clone());
        if let Some(of) = self.by_session.get_mut(&from.id) {
            of.retain(|join| join != id);
        }
        self.by_session.entry(to.id.clone()).or_default().push(id.to_owned());
    }

    /// Something happened that may bring a match to this join.
    fn call(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id)
            && !std::mem::replace(&mut w.due, true)
        {
            self.due.push_back(id.to_owned());
        }
    }

    /// The client of a session is here, or away.
    pub(super) fn presence(&mut self, session: &str, online: bool) {
        for id in self.by_session.get(session).cloned().unwrap_or_default() {
            if online { self.call(&id) } else { self.unqueue(&id) }
        }
    }

    /// A match of this join is over. Returns whether it was the last one of the join.
    pub(super) fn ended(&mut self, id: &str) -> bool {
        let Some(w) = self.joins.get_mut(id) else { return false };
        w.running = w.running.saturating_sub(1);
        let done = w.done();
        if done {
            self.remove(id)
        } else {
            self.call(id)
        }
        done
    }

    /// A match of a join continues after a restart.
    pub(super) fn continues(&mut self, id: &str) {
        if let Some(w) = self.joins.get_mut(id) {
            w.running += 1;
        }
    }

    /// How many joins a match could begin for.
    pub(super) fn waiting(&self) -> usize {
        self.joins.values().filter(|w| w.room() > 0).count()
    }

    /// Removes the joins that have no match to come and none that runs, and returns their ids.
    pub(super) fn remove_done(&mut self) -> Vec<String> {
        let done: Vec<String> = self.joins.values().filter(|w| w.done()).map(|w| w.kept.id.clone()).collect();
        done.iter().for_each(|id| self.remove(id));
        done
    }

    // ---- what begins ----------------------------------------------------------------------------------------------

    /// The next thing to do for the joins that are due.
    pub(super) fn next(&mut self, now: u64) -> Option<LobbyAction> {
        if let Some(begins) = self.next_planned(None) {
            return Some(begins);
        }
        while let Some(id) = self.due.front().cloned() {
            let begins = self.match_for(&id, now);
            if begins.is_some() {
                // It stays due: there may be room for more.
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
        if w.queues() {
            return match w.block.clone() {
                Some(pair) => self.next_of_block(&pair),
                None => self.next_queued(id, now),
            };
        }
        let players = w.game.as_ref()?.spec().players;
        let seat = w.request().seat.unwrap_or(w.played % players) as usize;
        let mut seats: Vec<SeatPlan> = w.against.iter().map(server_seat).collect();
        seats.insert(seat.min(seats.len()), w.seat_plan());
        let mut asked = RequestedTerms { mirror: w.has_mirrors(), ..asked(w)? };
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

    /// Joins meet when they are of one kind and their seats differ.
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
            // The ladder looks at all that wait, again and again.
            let w = self.joins.get_mut(id)?;
            w.since.get_or_insert(now);
            return None;
        }
        let table = queue.table(w.request().seat, w.arrival)?;
        self.meet(&table)
    }

    /// The match, or the first one of a pair, of joins from a queue, which are in order of arrival.
    fn meet(&mut self, table: &[String]) -> Option<LobbyAction> {
        let players = self.joins.get(table.first()?)?.game.as_ref()?.spec().players;
        let ids = self.place(table, players as usize);
        let seats = ids.iter().filter_map(|id| self.joins.get(id)).map(WaitingJoin::seat_plan).collect();
        let asked = asked(self.joins.get(&ids[0])?)?;
        let asked = RequestedTerms { pair: self.begin_block(&ids), ..asked };
        Some(self.begins(MatchPlan { seats, terms: MatchTerms::Asked(asked) }, ids, None))
    }

    /// Join ids in seat order: those that named a seat get it, the others draw, and move on by one seat each time that
    /// they meet again.
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
        // Join ids are random, so the draw is fair, and nobody can choose it.
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

    /// The next match of the plan that waits for this ticket, or for none, and for which everybody is there.
    fn next_planned(&mut self, ticket: Option<&str>) -> Option<LobbyAction> {
        let holder = |ticket: &str| self.by_ticket.get(ticket).and_then(|id| self.joins.get(id));
        let (n, joins) = self.plan.first(ticket, |m| {
            let ready = m.tickets().iter().all(|(t, seats)| holder(t).is_some_and(|w| w.room() >= *seats));
            let join = |seat: &PlannedSeat| match seat {
                PlannedSeat::Ticket(ticket) => self.by_ticket.get(ticket).cloned(),
                PlannedSeat::Agent(..) => None,
            };
            ready.then(|| m.seats.iter().filter_map(join).collect::<Vec<_>>())
        })?;
        let planned = self.plan.take(n)?;
        let seat = |seat: &PlannedSeat| match seat {
            PlannedSeat::Ticket(ticket) => holder(ticket).map(WaitingJoin::seat_plan),
            PlannedSeat::Agent(opponent, guard) => Some(SeatPlan { guard: *guard, ..server_seat(opponent) }),
        };
        let seats = planned.seats.iter().filter_map(seat).collect();
        let terms = match &planned.kept {
            Some(kept) => MatchTerms::Kept(kept.clone()),
            None => MatchTerms::Planned(Box::new(planned.setup.clone())),
        };
        Some(self.begins(MatchPlan { seats, terms }, joins, Some((n, planned))))
    }

    /// Counts a match for its joins.
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

    /// A match could not begin: its joins wait as before, for the next thing that happens to them.
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
        name: o.name.clone(),
        version: None,
        kind: AgentKind::Bot,
        setup: SeatSetup::default(),
        guard: AgentOptions::default(),
        occupant: Occupant::Agent { agent: o.agent.clone(), spec: o.spec.to_string(), pace: o.pace.clone() },
    }
}

/// The terms that a join asks for; `None` for a join by ticket.
fn asked(w: &WaitingJoin) -> Option<RequestedTerms> {
    Some(RequestedTerms {
        game: w.game.clone()?,
        rated: w.request().rated,
        clock: w.request().clock.clone(),
        pair: None,
        turn: 0,
        mirror: false,
        arranged: w.queues() && w.request().rated && !w.request().is_open() && w.ladder.is_none(),
        label: w.ladder.as_ref().and_then(|ladder| ladder.label()),
    })
}
