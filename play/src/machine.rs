//! A match as a machine without IO: what comes in with the time it came, what goes out in the order it must happen.
//!
//! Sockets, in-process agents, `ludex match`, resume, crash recovery and the tests all drive this one. It holds no
//! task, no timer and no generator: time is an argument, chance is drawn from the episode's seed.
//!
//! Outputs are in order of effect: what follows an [`Output::Keep`] of a rated match may be shown only when that row is
//! durable. The driver waits there; the machine need not know.

mod acts;
mod clock;
mod course;
mod end;
pub mod frames;
mod restore;
pub mod terms;

use std::collections::HashMap;

use ludex_env::batch::Layout;
use ludex_env::present::view_of;
use ludex_env::{Attempt, Draw, DynState, Outcomes, Seat};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{
    EventKind, HeldMatch, MatchFrame, MatchStart, MatchView, Resync, SeatInfo, SeatView, ServerMessage,
    Turn as TurnFrame,
};
use ludex_protocol::record::{Header, Reason, Record, RecordEvent, Try};

use self::acts::Answer;
use self::clock::Clocks;
use self::course::replay;
use self::frames::Logs;
pub use self::frames::Watcher;
use self::terms::{Input, KeptAct, Output, Question, Setup};

/// Numbers of frames restart here times the number of restarts, so that an old `seen` is never mistaken.
pub const RESTART_STEP: u64 = 1_000_000;

#[derive(Default)]
struct Place {
    /// Turns issued so far; the open turn is `issued - 1`.
    issued: u32,
    /// The open turn's frame, while it waits for an answer.
    open: Option<Box<TurnFrame>>,
    /// Whether an in-process agent was asked and has not answered.
    asked: bool,
    /// A joint move's part, until all have moved.
    pending: Option<KeptAct>,
    tries: Vec<Try>,
    /// The same refusals as an in-process agent is told them.
    attempts: Vec<Attempt>,
    answers: HashMap<(u32, u32), Answer>,
    online: bool,
    away_since: Option<u64>,
    /// Whether it ever answered anything.
    acted: bool,
    /// After a restart the clock waits until the client is back.
    waits: bool,
}

/// A match. See the module.
pub struct Match {
    setup: Setup,
    state: Box<dyn DynState>,
    draw: Draw,
    outcomes: Outcomes,
    events: Vec<RecordEvent>,
    places: Vec<Place>,
    clocks: Clocks,
    logs: Logs,
    phase: Option<&'static str>,
    returns: Vec<f64>,
    /// How it ended before a restart: what is told again is what was kept.
    past: Option<Box<Record>>,
    ended: Option<Record>,
    out: Vec<Output>,
}

impl Match {
    /// A match before its start.
    pub fn new(setup: Setup, now: u64) -> Self {
        let seats = setup.seats.len();
        let state = setup.game.start();
        let watchers = Logs::new(&setup.header.episode, seats, u64::from(setup.restarts) * RESTART_STEP);
        Match {
            draw: Draw::new(setup.game.id(), setup.seed, 0),
            outcomes: Outcomes::new(),
            events: Vec::new(),
            places: (0..seats).map(|_| Place::default()).collect(),
            clocks: Clocks::new(setup.header.clock.clone(), seats, now),
            logs: watchers,
            phase: state.phase(),
            returns: vec![0.0; seats],
            past: None,
            ended: None,
            out: Vec::new(),
            state,
            setup,
        }
    }
    // ---- what drivers ask ----------------------------------------------------------------------------------------

    /// The id.
    pub fn id(&self) -> &str {
        &self.setup.header.episode
    }

    /// The head of the record.
    pub fn header(&self) -> &Header {
        &self.setup.header
    }

    /// The setup.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The record, when the match is over. Complete: what may be shown to whom is the caller's business.
    pub fn record(&self) -> Option<&Record> {
        self.ended.as_ref()
    }

    /// The moves so far with what spectators may see of them, for the episode's page while it runs.
    pub fn public_events(&self) -> Vec<MatchFrame> {
        self.logs.events(Watcher::Public)
    }

    /// Whether it is over.
    pub fn over(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether `seat` is to be asked now.
    pub fn waits_for(&self, seat: Seat) -> bool {
        self.places.get(seat).is_some_and(|p| p.open.is_some() || p.asked)
    }

    /// When [`Input::Tick`] is due.
    pub fn wake(&self) -> Option<u64> {
        if self.over() {
            return None;
        }
        let away = self.places.iter().filter_map(|p| p.away_since).min().map(|t| t.saturating_add(self.setup.grace_ms));
        [self.clocks.next().map(|n| n.0), away].into_iter().flatten().min()
    }

    /// Starts the clocks of turns that have just been handed to their sockets.
    pub fn delivered(&mut self, now: u64) {
        for (seat, place) in self.places.iter().enumerate() {
            if place.open.is_some() && !place.waits {
                self.clocks.start(seat, place.issued == 1, now);
            }
        }
    }

    /// What an in-process agent is asked. `peek` lets it see the true state.
    pub fn question(&self, seat: Seat, peek: bool) -> Option<Question> {
        let place = self.places.get(seat).filter(|p| p.asked)?;
        let legal = ludex_env::erased::legal_list(&*self.state, seat);
        let (state, draw) = (self.state.boxed(), self.draw.clone());
        let past = self.logs.past(Watcher::Seat(seat));
        let (turn, attempts) = (place.issued.saturating_sub(1), place.attempts.clone());
        Some(Question { seat, turn, legal, state, draw, peek, past, attempts })
    }

    /// For `welcome`: where a seat stands.
    pub fn held(&self, seat: Seat) -> HeldMatch {
        let seq = self.logs.last_seq(Watcher::Seat(seat)).unwrap_or(0);
        HeldMatch { match_id: self.id().to_owned(), seat: Some(seat as u32), seq }
    }

    /// What a watcher gets who saw frames up to `seen`: the frames after it, or one `resync`. An open turn is sent
    /// again, with its old number, even if it was seen.
    pub fn catch_up(&self, to: Watcher, seen: Option<u64>) -> Vec<ServerMessage> {
        let base = u64::from(self.setup.restarts) * RESTART_STEP;
        let last = self.logs.last_seq(to);
        let open = match to {
            Watcher::Seat(seat) => self.places[seat].open.clone(),
            _ => None,
        };
        match (seen, last) {
            (_, None) => Vec::new(),
            (Some(seen), Some(last)) if seen >= base && seen <= last => {
                let mut out: Vec<ServerMessage> =
                    self.logs.after(to, seen).into_iter().map(ServerMessage::from).collect();
                if let Some(turn) = open.filter(|t| t.seq <= seen) {
                    out.push(ServerMessage::Turn(turn));
                }
                out
            }
            _ => vec![self.resync(to)],
        }
    }

    /// Everything about the match so far in one message.
    pub fn resync(&self, to: Watcher) -> ServerMessage {
        let turn = match to {
            Watcher::Seat(seat) => self.places[seat].open.clone(),
            _ => None,
        };
        let (start, events, end) = self.logs.parts(to);
        let resync = Resync {
            seq: self.logs.last_seq(to).unwrap_or(0),
            match_id: self.id().to_owned(),
            start: start.unwrap_or_default(),
            events,
            turn,
            end,
        };
        ServerMessage::Resync(Box::new(resync))
    }

    /// The frames of a spectator so far, each event with the views asked for.
    pub fn retold(&self, to: Watcher, views: &[MatchView]) -> Vec<MatchFrame> {
        self.logs.retold(to, &*self.setup.game, &self.events, views)
    }

    /// The views of the position now, for a spectator.
    pub fn spectator_view(&self, to: Watcher, views: &[MatchView]) -> SeatView {
        view_of(&*self.state, to.viewer(), views, Layout::Ludex)
    }

    // ---- inputs --------------------------------------------------------------------------------------------------

    /// Takes one input at `now` (milliseconds of the host's monotonic clock) and says what follows.
    pub fn on(&mut self, now: u64, input: Input) -> Vec<Output> {
        if !matches!(input, Input::Start) {
            self.fall(now);
        }
        match input {
            Input::Start => {
                self.open_logs();
                self.emit_opening();
                self.settle();
            }
            Input::Act { seat, re, act } => self.act(now, seat, re, *act),
            Input::Answer { seat, turn, given, notes } => self.answer(now, seat, turn, given, notes.map(|n| *n)),
            Input::Failed { seat, reason, message } => {
                if !self.over() {
                    tracing::warn!(match_id = self.id(), seat, %message, "an in-process agent failed");
                    self.finish(reason, reason.counts().then_some(seat));
                }
            }
            Input::Resign { seat, re } => self.resign(seat, re),
            Input::Online(seat) => self.presence(now, seat, true),
            Input::Offline(seat) => self.presence(now, seat, false),
            Input::Tick => {}
            Input::Abort(reason) => {
                if !self.over() {
                    self.finish(reason, None);
                }
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Ends the match where a clock or the patience with a lost connection ran out before `now`.
    fn fall(&mut self, now: u64) {
        if self.over() {
            return;
        }
        let away = self.places.iter().enumerate().filter_map(|(seat, p)| Some((p.away_since?, seat))).min();
        let away = away.map(|(since, seat)| (since.saturating_add(self.setup.grace_ms), seat));
        let clock = self.clocks.next().filter(|&(at, _)| at <= now);
        match (clock, away.filter(|&(at, _)| at <= now)) {
            (Some((at, fell)), away) if away.is_none_or(|(gone, _)| at <= gone) => match fell {
                Some(seat) => self.blame(Reason::Timeout, seat),
                None => self.finish(Reason::Truncated, None),
            },
            (_, Some((_, seat))) => self.blame(Reason::Disconnect, seat),
            _ => {}
        }
    }

    fn blame(&mut self, reason: Reason, seat: Seat) {
        let reason = if self.places[seat].acted { reason } else { Reason::NoShow };
        self.finish(reason, Some(seat));
    }

    fn presence(&mut self, now: u64, seat: Seat, online: bool) {
        let grace = self.setup.grace_ms;
        let over = self.over();
        let Some(place) = self.places.get_mut(seat) else { return };
        if place.online == online && place.away_since.is_some() != online {
            return;
        }
        let first = !place.online && place.away_since.is_none();
        place.online = online;
        place.away_since = (!online && !over).then_some(now);
        if online {
            place.waits = false;
        }
        if over || (first && online) {
            return;
        }
        let event = EventKind::Presence { seat: seat as u32, online, grace_ms: (!online).then_some(grace) };
        for to in self.logs.watchers().filter(|&w| w != Watcher::Seat(seat)) {
            self.emit(to, event.clone());
        }
    }

    fn resign(&mut self, seat: Seat, re: Option<i64>) {
        let over = self.over();
        // Said again, because the answer was lost with the connection.
        let end = self.ended.as_ref().map(|r| (r.footer.reason, r.footer.at_fault));
        let again = end == Some((Some(Reason::Resign), Some(seat as u32)));
        self.places[seat].acted = true;
        if let Some(re) = re {
            let message = if over && !again {
                Refusal::new(ErrorCode::MatchOver, "the match is over").into()
            } else {
                ServerMessage::Ok(Default::default())
            };
            self.reply(seat, re, message);
        }
        if !over {
            self.finish(Reason::Resign, Some(seat));
        }
    }

    fn reply(&mut self, seat: Seat, re: i64, message: ServerMessage) {
        self.out.push(Output::Reply { seat, re, message: Box::new(message) });
    }

    // ---- frames ---------------------------------------------------------------------------------------------------

    /// The first frame of every watcher.
    fn open_logs(&mut self) {
        let h = &self.setup.header;
        let seats = h.seats.iter().map(|s| SeatInfo { name: s.name.clone(), version: s.version.clone(), kind: s.kind });
        let seats: Vec<SeatInfo> = seats.collect();
        for to in self.logs.watchers() {
            let (seat, join) = match to {
                Watcher::Seat(s) => (Some(s as u32), self.setup.seats[s].join.clone()),
                _ => (None, None),
            };
            let start = MatchStart {
                seq: 0,
                match_id: h.episode.clone(),
                join,
                game: h.game.clone(),
                params: h.params.clone(),
                rules: h.rules,
                hash: h.hash.clone(),
                seat,
                seats: seats.clone(),
                rated: h.rated,
                clock: h.clock.clone(),
                illegal: h.illegal,
                skip_forced: self.setup.skip_forced,
                seed_commit: h.seed_commit.clone(),
            };
            self.logs.push(to, MatchFrame::MatchStart(Box::new(start)), 0);
        }
    }

    fn emit_opening(&mut self) {
        for to in self.logs.watchers() {
            for frame in self.logs.all(to) {
                self.out.push(Output::Frame { to, frame: Box::new(frame) });
            }
        }
    }

    fn emit(&mut self, to: Watcher, kind: EventKind) {
        let frame = self.logs.event(to, kind, self.events.len());
        self.out.push(Output::Frame { to, frame: Box::new(frame) });
    }
}
