//! Who waits for whom: joins by queue, against the server's agents, and by ticket of a plan.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ludex_env::{GameRef, Stream};
use ludex_protocol::client::{Join, MatchView};
use ludex_protocol::error::{ErrorCode, Refusal, shortened};
use ludex_protocol::record::{AgentKind, Clock, Illegal};
use ludex_protocol::server::{Joined, Queued, ServerMessage};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::entrant::{Entrant, KeptJoin};
use super::hub::{Hub, MatchPlan, Plays, SeatPlan, fresh_id, lock};
use crate::opponents::Opponent;
use crate::store::{TicketRow, Write};
use ludex_play::machine::terms::SeatSetup;

/// A match that a tournament wants: who sits where, on which seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMatch {
    /// Game string.
    pub game: String,
    /// Per seat: the ticket of a client, or the spec of an agent of the server's.
    pub seats: Vec<PlannedSeat>,
    /// The seed; matches of a pair share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The pair: seed, digest and record are released when its last match is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// The run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether it counts.
    pub rated: bool,
    /// Clock of every seat.
    pub clock: Clock,
    /// Policy for illegal moves.
    #[serde(default)]
    pub illegal: Illegal,
    /// Whether forced moves are played without asking.
    #[serde(default)]
    pub skip_forced: bool,
}

/// Who sits on a planned seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedSeat {
    /// Whoever holds this ticket.
    Ticket(String),
    /// An agent of the server's.
    Agent(String),
}

/// A join that is waiting or playing.
struct Waiting {
    id: String,
    entrant: Arc<Entrant>,
    request: Join,
    game: GameRef,
    /// The server's agents, for joins `against`.
    against: Vec<Opponent>,
    left: Option<u32>,
    played: u32,
    running: u32,
    /// Whether `queued` was sent since the last match.
    told: bool,
    /// The request that asked for it.
    re: i64,
    /// Whether it is kept and its client was told.
    ready: bool,
}

impl Waiting {
    /// Whether a match may begin for it now: there are some to come, there is room, and somebody is there to play it.
    fn open(&self) -> bool {
        self.ready && self.left != Some(0) && self.running < self.request.slots && self.entrant.connected()
    }

    fn begun(&mut self) {
        self.running += 1;
        self.played += 1;
        self.told = false;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
    }

    /// The match that [`begun`](Self::begun) counted did not begin.
    fn not_begun(&mut self) {
        self.running -= 1;
        self.played -= 1;
        if let Some(left) = &mut self.left {
            *left += 1;
        }
    }

    fn seat_plan(&self) -> SeatPlan {
        let setup = SeatSetup {
            remote: true,
            views: self.request.views.clone(),
            openspiel: self.request.layout.as_deref() == Some("openspiel"),
            join: Some(self.id.clone()),
        };
        SeatPlan {
            name: self.entrant.agent.clone(),
            version: self.entrant.version.clone(),
            kind: self.entrant.kind,
            setup,
            player: Plays::Client(self.entrant.clone()),
        }
    }
}

/// What waits.
#[derive(Default)]
pub(super) struct Lobby {
    joins: BTreeMap<String, Waiting>,
    /// Join ids in order of arrival.
    order: Vec<String>,
    plan: Vec<PlannedMatch>,
    /// Matches that share a seed.
    pairs: HashMap<String, Pair>,
}

#[derive(Default)]
struct Pair {
    /// Matches planned and not begun.
    to_come: usize,
    running: HashSet<String>,
    /// Those that are over and wait for the others to be released with them.
    over: Vec<String>,
}

impl Lobby {
    /// A match of this join is over.
    pub(super) fn ended(&mut self, join: &str) {
        if let Some(w) = self.joins.get_mut(join) {
            w.running = w.running.saturating_sub(1);
            if w.left == Some(0) && w.running == 0 {
                self.remove(join);
            }
        }
    }

    fn remove(&mut self, join: &str) {
        self.joins.remove(join);
        self.order.retain(|j| j != join);
    }

    /// A match of a join goes on after a restart.
    pub(super) fn goes_on(&mut self, join: &str) {
        if let Some(w) = self.joins.get_mut(join) {
            w.running += 1;
        }
    }

    /// Forgets joins without a match to come or running.
    pub(super) fn tidy(&mut self) {
        let done = |w: &&Waiting| w.left == Some(0) && w.running == 0;
        let done: Vec<String> = self.joins.values().filter(done).map(|w| w.id.clone()).collect();
        done.iter().for_each(|id| self.remove(id));
    }

    /// A match of the pair begins, or goes on after a restart.
    pub(super) fn pair_begun(&mut self, pair: &str, id: &str) {
        let p = self.pairs.entry(pair.to_owned()).or_default();
        p.to_come = p.to_come.saturating_sub(1);
        p.running.insert(id.to_owned());
    }

    /// A match of the pair was over before a restart, and is not released.
    pub(super) fn pair_was_over(&mut self, pair: &str, id: &str) {
        self.pairs.entry(pair.to_owned()).or_default().over.push(id.to_owned());
    }

    /// A match of the pair is over; all its matches, if this was the last.
    pub(super) fn pair_ended(&mut self, pair: &str, id: &str) -> Vec<String> {
        let p = self.pairs.entry(pair.to_owned()).or_default();
        p.running.remove(id);
        p.over.push(id.to_owned());
        if p.to_come > 0 || !p.running.is_empty() {
            return Vec::new();
        }
        self.pairs.remove(pair).map(|p| p.over).unwrap_or_default()
    }

    /// The next match that can begin, with its joins already counted.
    fn next(&mut self) -> Option<MatchPlan> {
        self.next_against().or_else(|| self.next_planned()).or_else(|| self.next_queued())
    }

    fn next_against(&mut self) -> Option<MatchPlan> {
        let id = self.order.iter().find(|id| {
            let w = &self.joins[*id];
            w.open() && !w.against.is_empty()
        })?;
        let w = self.joins.get_mut(id)?;
        let players = w.game.spec().players;
        let seat = w.request.seat.unwrap_or(w.played % players) as usize;
        let mut seats: Vec<SeatPlan> = w.against.iter().map(server_seat).collect();
        seats.insert(seat.min(seats.len()), w.seat_plan());
        w.begun();
        Some(match_plan(w, seats))
    }

    /// Joins meet when canonical game string, queue, rated and clock are equal and their seats differ.
    fn next_queued(&mut self) -> Option<MatchPlan> {
        let open: Vec<&Waiting> =
            self.order.iter().map(|id| &self.joins[id]).filter(|w| queued(w) && w.open()).collect();
        for first in &open {
            let players = first.game.spec().players as usize;
            let mut table: Vec<&Waiting> = Vec::new();
            for w in &open {
                let fits = meets(first, w)
                    && table
                        .iter()
                        .all(|t| t.id != w.id && (t.request.seat.is_none() || t.request.seat != w.request.seat));
                if fits && table.len() < players {
                    table.push(w);
                }
            }
            if table.len() < players {
                continue;
            }
            let ids = place(&table, players);
            let seats = ids.iter().map(|id| self.joins[id].seat_plan()).collect();
            for id in &ids {
                if let Some(w) = self.joins.get_mut(id) {
                    w.begun();
                }
            }
            return Some(match_plan(&self.joins[&ids[0]], seats));
        }
        None
    }

    fn next_planned(&mut self) -> Option<MatchPlan> {
        let by_ticket: HashMap<&str, &Waiting> =
            self.joins.values().filter_map(|w| Some((w.request.ticket.as_deref()?, w))).collect();
        let ready = |m: &PlannedMatch| {
            let mut wanted: HashMap<&str, u32> = HashMap::new();
            m.seats.iter().for_each(|s| {
                if let PlannedSeat::Ticket(t) = s {
                    *wanted.entry(t).or_default() += 1;
                }
            });
            let free = |w: &Waiting, n: u32| w.open() && w.running + n <= w.request.slots;
            wanted.iter().all(|(t, n)| by_ticket.get(t).is_some_and(|w| free(w, *n)))
        };
        let at = self.plan.iter().position(ready)?;
        let ids: Vec<Option<String>> = self.plan[at]
            .seats
            .iter()
            .map(|s| match s {
                PlannedSeat::Ticket(t) => by_ticket.get(t.as_str()).map(|w| w.id.clone()),
                PlannedSeat::Agent(_) => None,
            })
            .collect();
        let m = self.plan.remove(at);
        let game = ludex_env::load(&m.game).ok()?;
        let mut seats = Vec::new();
        for (seat, id) in m.seats.iter().zip(&ids) {
            match (seat, id) {
                (PlannedSeat::Ticket(_), Some(id)) => {
                    let w = self.joins.get_mut(id)?;
                    w.begun();
                    seats.push(w.seat_plan());
                }
                (PlannedSeat::Agent(spec), _) => {
                    let agent = ludex_agents::build(spec, &game).ok()?;
                    let parsed = ludex_agents::AgentSpec::parse(spec).ok()?;
                    seats.push(server_seat(&Opponent { name: spec.clone(), spec: parsed, agent }));
                }
                _ => return None,
            }
        }
        Some(MatchPlan {
            game,
            seats,
            rated: m.rated,
            clock: m.clock,
            illegal: m.illegal,
            skip_forced: m.skip_forced,
            seed: m.seed,
            run: m.run,
            pair: m.pair,
        })
    }

    /// Joins that wait and were not told so yet, with how many wait for the same.
    fn untold(&mut self) -> Vec<(Arc<Entrant>, Queued)> {
        let mut out = Vec::new();
        let waiting: Vec<String> =
            self.order.iter().filter(|id| queued(&self.joins[*id]) && self.joins[*id].open()).cloned().collect();
        for id in &waiting {
            let n = waiting.iter().filter(|o| meets(&self.joins[id], &self.joins[*o])).count() as u32;
            if let Some(w) = self.joins.get_mut(id).filter(|w| !w.told) {
                w.told = true;
                out.push((w.entrant.clone(), Queued { join: id.clone(), waiting: n, eta_ms: None }));
            }
        }
        out
    }
}

fn queued(w: &Waiting) -> bool {
    w.against.is_empty() && w.request.ticket.is_none()
}

fn meets(a: &Waiting, b: &Waiting) -> bool {
    a.game.spec().string == b.game.spec().string
        && a.request.queue == b.request.queue
        && a.request.rated == b.request.rated
        && a.request.clock == b.request.clock
}

/// Join ids in seat order: those who named a seat get it, the others draw.
fn place(table: &[&Waiting], players: usize) -> Vec<String> {
    let mut seats: Vec<Option<String>> = vec![None; players];
    for w in table {
        if let Some(seat) = w.request.seat.and_then(|s| seats.get_mut(s as usize)) {
            *seat = Some(w.id.clone());
        }
    }
    let mut rest: Vec<String> = table.iter().filter(|w| w.request.seat.is_none()).map(|w| w.id.clone()).collect();
    // Join ids are random, so the draw is fair, and nobody can choose it.
    Stream::named(&rest.concat()).shuffle(&mut rest);
    let mut rest = rest.into_iter();
    seats.into_iter().filter_map(|s| s.or_else(|| rest.next())).collect()
}

fn server_seat(o: &Opponent) -> SeatPlan {
    SeatPlan {
        name: o.name.clone(),
        version: None,
        kind: AgentKind::Bot,
        setup: SeatSetup::default(),
        player: Plays::Agent { agent: o.agent.clone(), spec: o.spec.to_string() },
    }
}

fn match_plan(w: &Waiting, seats: Vec<SeatPlan>) -> MatchPlan {
    MatchPlan {
        game: w.game.clone(),
        seats,
        rated: w.request.rated,
        clock: w.request.clock.clone(),
        illegal: Illegal::default(),
        skip_forced: false,
        seed: None,
        run: None,
        pair: None,
    }
}

impl Hub {
    /// Answers a `join`, then seats whom it can.
    pub(super) async fn join(self: &Arc<Self>, entrant: &Arc<Entrant>, re: i64, request: Join) {
        match self.enter(entrant, re, request).await {
            Ok(id) => {
                // Whoever was told of a join has it after a crash.
                entrant.keep(self, true).await;
                if let Some(mailbox) = entrant.mailbox() {
                    mailbox.reply(re, ServerMessage::Joined(Joined { join: id.clone() }));
                }
                if let Some(w) = lock(&self.lobby).joins.get_mut(&id) {
                    w.ready = true;
                }
                self.seat_soon();
            }
            Err(e) => {
                if let Some(mailbox) = entrant.mailbox() {
                    mailbox.reply(re, *e);
                }
            }
        }
    }

    async fn enter(
        self: &Arc<Self>,
        entrant: &Arc<Entrant>,
        re: i64,
        mut request: Join,
    ) -> Result<String, Box<Refusal>> {
        // A request that was carried out is repeated only where its answer was lost in a crash.
        let same = |w: &&Waiting| w.entrant.session == entrant.session && w.re == re;
        if let Some(id) = lock(&self.lobby).joins.values().find(same).map(|w| w.id.clone()) {
            return Ok(id);
        }
        if self.draining() {
            return Err(Box::new(Refusal::new(
                ErrorCode::Draining,
                "the server takes no new joins: it is about to stop",
            )));
        }
        if let Some(ticket) = request.ticket.clone() {
            let row = self.store.ticket(&ticket).await.map_err(|e| internal(&e))?;
            let row = row.filter(|r| r.agent == entrant.agent).ok_or_else(|| {
                let e = Refusal::new(ErrorCode::Forbidden, "there is no such ticket for this agent name");
                Box::new(e.path("ticket"))
            })?;
            let id = fresh_id('j')?;
            let id = self.store.show_ticket(&ticket, &id).await.map_err(|e| internal(&e))?;
            let wish: TicketBody = serde_json::from_str(&row.body).unwrap_or_default();
            request.game = wish.game.unwrap_or(request.game);
            request.slots = wish.slots.unwrap_or(request.slots);
            request.count = 0;
            if let Some(w) = lock(&self.lobby).joins.get_mut(&id) {
                // Shown again: the same join, now held by whoever shows it.
                (w.entrant, w.re) = (entrant.clone(), re);
                return Ok(id);
            }
            return self.wait(entrant, KeptJoin { id, left: None, played: 0, re, request });
        }
        let left = (request.count > 0).then_some(request.count);
        let id = fresh_id('j')?;
        self.wait(entrant, KeptJoin { id, left, played: 0, re, request })
    }

    /// A join from before a restart.
    pub(super) async fn rejoin(self: &Arc<Self>, entrant: &Arc<Entrant>, join: KeptJoin) -> Result<(), Box<Refusal>> {
        let id = self.wait(entrant, join)?;
        if let Some(w) = lock(&self.lobby).joins.get_mut(&id) {
            w.ready = true;
        }
        Ok(())
    }

    fn wait(&self, entrant: &Arc<Entrant>, join: KeptJoin) -> Result<String, Box<Refusal>> {
        let r = &join.request;
        let game = crate::catalogue::load(&r.game, &r.params)?;
        let spec = game.spec();
        let bad = |path: &str, message: String| Box::new(Refusal::new(ErrorCode::BadField, message).path(path));
        if r.seat.is_some_and(|s| s >= spec.players) {
            return Err(Box::new(
                bad("seat", format!("{} has seats 0 to {}", spec.game, spec.players - 1)).got(r.seat),
            ));
        }
        if r.slots == 0 || r.slots > self.config.limits.matches {
            let e = Refusal::new(ErrorCode::Limit, "slots is out of range").path("slots").got(r.slots);
            return Err(Box::new(e.allowed(format!("1 to {}", self.config.limits.matches))));
        }
        if let Some(layout) = r.layout.as_ref().filter(|l| !spec.views.layouts.contains(l)) {
            let e = bad("layout", format!("{} has no layout {:?}", spec.game, shortened(layout)));
            return Err(Box::new(e.allowed(json!(spec.views.layouts))));
        }
        let lacks = |v: MatchView, has: bool| r.views.contains(&v) && !has;
        if lacks(MatchView::Tensor, spec.views.tensor.is_some()) || lacks(MatchView::Info, spec.views.info.is_some()) {
            return Err(bad("views", format!("{} lacks a view that was asked for", spec.game)));
        }
        if entrant.running() + r.slots as usize > self.config.limits.matches as usize {
            let e = Refusal::new(ErrorCode::Limit, "this session plays as many matches as it may");
            return Err(Box::new(e.allowed(self.config.limits.matches)));
        }
        let against = self.against(r, &game)?;
        let id = join.id.clone();
        let waiting = Waiting {
            id: id.clone(),
            entrant: entrant.clone(),
            against,
            left: join.left,
            played: join.played,
            running: 0,
            told: false,
            re: join.re,
            ready: false,
            request: join.request,
            game,
        };
        let mut lobby = lock(&self.lobby);
        lobby.order.push(id.clone());
        lobby.joins.insert(id.clone(), waiting);
        Ok(id)
    }

    fn against(&self, r: &Join, game: &GameRef) -> Result<Vec<Opponent>, Box<Refusal>> {
        let Some(specs) = r.against.as_ref().filter(|_| r.ticket.is_none()) else { return Ok(Vec::new()) };
        let others = game.spec().players as usize - 1;
        if specs.len() != others && specs.len() != 1 {
            let e = Refusal::new(ErrorCode::BadShape, format!("{} needs {others} opponents, or one for all", r.game));
            return Err(Box::new(e.path("against").got(specs.len()).allowed(others)));
        }
        (0..others)
            .map(|k| {
                let text = specs.get(k).unwrap_or(&specs[0]);
                self.config
                    .opponents
                    .seat(text, game, r.rated)
                    .map_err(|e| Box::new(e.path("against").at(k.min(specs.len() - 1))))
            })
            .collect()
    }

    /// No new matches for a join.
    pub(super) async fn leave(self: &Arc<Self>, entrant: &Arc<Entrant>, join: &str) -> bool {
        {
            let mut lobby = lock(&self.lobby);
            let Some(w) = lobby.joins.get_mut(join).filter(|w| w.entrant.session == entrant.session) else {
                return false;
            };
            w.left = Some(0);
            if w.running == 0 {
                lobby.remove(join);
            }
        }
        entrant.keep(self, false).await;
        true
    }

    /// The joins that a session holds.
    pub(super) fn joins_of(&self, session: &str) -> Vec<KeptJoin> {
        let lobby = lock(&self.lobby);
        let of = lobby.order.iter().map(|id| &lobby.joins[id]).filter(|w| w.entrant.session == session);
        let kept = |w: &Waiting| KeptJoin {
            id: w.id.clone(),
            request: w.request.clone(),
            left: w.left,
            played: w.played,
            re: w.re,
        };
        of.map(kept).collect()
    }

    /// Gives the joins of one session to another.
    pub(super) fn move_joins(&self, from: &str, to: &Arc<Entrant>) {
        for w in lock(&self.lobby).joins.values_mut().filter(|w| w.entrant.session == from) {
            w.entrant = to.clone();
        }
    }

    /// Ends the joins of a session that is gone.
    pub(super) fn drop_joins(&self, session: &str) {
        let mut lobby = lock(&self.lobby);
        let gone: Vec<String> =
            lobby.joins.values().filter(|w| w.entrant.session == session).map(|w| w.id.clone()).collect();
        gone.iter().for_each(|id| lobby.remove(id));
    }

    /// [`seat_all`](Self::seat_all) in a task of its own: each match is kept before it begins, and a connection that
    /// waited for many would not hear its client meanwhile, whose clocks run.
    pub(super) fn seat_soon(self: &Arc<Self>) {
        let hub = self.clone();
        tokio::spawn(async move { hub.seat_all().await });
    }

    /// Begins every match that can begin. Only those whose session is connected are seated.
    pub(super) async fn seat_all(self: &Arc<Self>) {
        loop {
            let plan = {
                let mut lobby = lock(&self.lobby);
                if self.draining() {
                    return;
                }
                lobby.next()
            };
            let Some(plan) = plan else { break };
            let joins: Vec<String> = plan.seats.iter().filter_map(|s| s.setup.join.clone()).collect();
            // The future is boxed: a match that ends seats the next one, whose end seats the next.
            if let Err(error) = Box::pin(self.begin(plan)).await {
                tracing::error!(%error, "a match could not begin");
                let mut lobby = lock(&self.lobby);
                for join in &joins {
                    if let Some(w) = lobby.joins.get_mut(join) {
                        w.not_begun();
                    }
                }
                break;
            }
        }
        let told = lock(&self.lobby).untold();
        for (entrant, queued) in told {
            if let Some(mailbox) = entrant.mailbox() {
                let _ = mailbox.event(ServerMessage::Queued(queued));
            }
        }
    }

    /// Adds matches to play as soon as the holders of their tickets have joined.
    ///
    /// # Errors
    /// A game or agent that does not exist, before anything is planned; the store's.
    pub async fn plan(
        self: &Arc<Self>,
        run: &str,
        tickets: &[(String, String)],
        matches: Vec<PlannedMatch>,
    ) -> anyhow::Result<()> {
        for m in &matches {
            let game = ludex_env::load(&m.game)?;
            anyhow::ensure!(m.seats.len() == game.spec().players as usize, "{} has another number of seats", m.game);
            for seat in &m.seats {
                if let PlannedSeat::Agent(spec) = seat {
                    ludex_agents::build(spec, &game)?;
                }
            }
        }
        let games: Vec<&PlannedMatch> = matches.iter().collect();
        let rows = tickets.iter().map(|(ticket, agent)| {
            let of = games.iter().find(|m| m.seats.contains(&PlannedSeat::Ticket(ticket.clone())));
            let body = TicketBody { game: of.map(|m| m.game.clone()), slots: None };
            Write::Ticket(TicketRow {
                ticket: ticket.clone(),
                agent: agent.clone(),
                run: Some(run.to_owned()),
                body: serde_json::to_string(&body).unwrap_or_default(),
                join: None,
            })
        });
        self.store.write(rows.collect()).await?;
        {
            let mut lobby = lock(&self.lobby);
            for m in &matches {
                if let Some(pair) = &m.pair {
                    lobby.pairs.entry(pair.clone()).or_default().to_come += 1;
                }
            }
            lobby.plan.extend(matches);
        }
        self.seat_all().await;
        Ok(())
    }

    /// Planned matches that have not begun.
    pub fn planned(&self) -> usize {
        lock(&self.lobby).plan.len()
    }
}

/// What a ticket says about its join.
#[derive(Default, Serialize, Deserialize)]
struct TicketBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    game: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<u32>,
}

fn internal(e: &crate::store::StoreError) -> Box<Refusal> {
    tracing::error!(error = %e, "the store failed");
    Box::new(Refusal::new(ErrorCode::Internal, "the store failed; try again later"))
}
