//! A match as a machine without IO: what comes in with the time it came, what goes out in the order it must happen.
//!
//! Sockets, in-process agents, `ludex match`, resume, crash recovery and the tests all drive this one. It holds no
//! task, no timer and no generator: time is an argument, chance is drawn from the episode's seed.
//!
//! Outputs are in order of effect: what follows an [`Output::Keep`] of a rated match may be shown only when that row is
//! durable. The driver waits there; the machine need not know.

use std::collections::HashMap;

use ludex_env::batch::Layout;
use ludex_env::{Draw, DynState, Given, Heard, Mover, Outcomes, Seat, Stream, Turn, Viewer};
use ludex_protocol::client::{Act, MatchView, Move};
use ludex_protocol::error::{ErrorCode, ErrorMessage};
use ludex_protocol::record::{
    ChanceRecord, Footer, Header, IllegalPolicy, MoveRecord, Notes, Parts, Reason, Record, RecordEvent, Try,
};
use ludex_protocol::server::{
    Accepted, EventKind, HeldMatch, MatchEnd, MatchFrame, MatchStart, Refused, Resync, SeatInfo, ServerMessage,
    Turn as TurnFrame,
};
use ludex_protocol::spec::{Information, RewardModel};
use ludex_referee::digest;

use super::clock::Clocks;
use super::frames::{Logs, Watcher, legal_of, view_of};
use super::terms::{Input, Kept, KeptAct, Output, Question, Setup};

/// Numbers of frames restart here times the number of restarts, so that an old `seen` is never mistaken.
pub const RESTART_STEP: u64 = 1_000_000;

/// What was answered to (turn, try).
struct Answer {
    given: Move,
    /// Events before the move, to read other notations of it in the position where it was made.
    at: usize,
    canonical: Option<Heard>,
    message: ServerMessage,
}

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

    /// A running match brought back from its rows: agents are not asked again, chance is drawn again from the seed,
    /// clocks stand where they last were durable, and nobody is connected. Give [`Match::wake`]'s outputs to nobody:
    /// clients get a `resync` when they come back.
    ///
    /// # Errors
    /// A row that does not apply, by number: the store or the rules changed under the match.
    pub fn restore(setup: Setup, rows: Vec<Kept>, now: u64) -> Result<(Self, Vec<Output>), String> {
        let mut m = Match::new(setup, now);
        m.again(rows, now)?;
        // What was shown before the crash is in the logs; only open questions to in-process agents are new.
        m.out.clear();
        let asks: Vec<Seat> = (0..m.places.len()).filter(|&s| m.places[s].asked).collect();
        Ok((m, asks.into_iter().map(Output::Ask).collect()))
    }

    /// A match that had ended, with its record: for clients who did not hear of it.
    ///
    /// # Errors
    /// As [`Match::restore`].
    pub fn recall(setup: Setup, rows: Vec<Kept>, record: Record, now: u64) -> Result<Self, String> {
        let mut m = Match::new(setup, now);
        let (reason, at_fault) = (record.footer.reason, record.footer.at_fault);
        m.past = Some(Box::new(record));
        m.again(rows, now)?;
        if !m.over() {
            m.finish(reason.unwrap_or(Reason::Aborted), at_fault.map(|seat| seat as Seat));
        }
        m.out.clear();
        Ok(m)
    }

    /// Plays the rows of the log.
    fn again(&mut self, rows: Vec<Kept>, now: u64) -> Result<(), String> {
        self.open_logs();
        for place in &mut self.places {
            place.waits = true;
            place.away_since = Some(now);
        }
        self.settle();
        for (n, row) in rows.into_iter().enumerate() {
            self.reapply(row, now).map_err(|why| format!("row {n}: {why}"))?;
        }
        Ok(())
    }

    fn reapply(&mut self, row: Kept, now: u64) -> Result<(), String> {
        match row {
            Kept::Act(act) => {
                let seat = act.seat;
                if self.places.get(seat).is_none_or(|p| p.issued == 0 || p.issued - 1 != act.turn) {
                    return Err(format!("seat {seat} is not at turn {}", act.turn));
                }
                let heard = match (&act.action, &act.said) {
                    (Some(a), None) if self.state.is_legal(seat, *a) => Heard::Action(*a),
                    (None, Some(said)) => Heard::Said(said.clone()),
                    _ => return Err("it is not legal here".into()),
                };
                self.clocks.stop(seat, now);
                self.clocks.set_bank(seat, act.bank_ms);
                let given = match &heard {
                    Heard::Action(a) => Move::Id(i64::from(*a)),
                    Heard::Said(v) => Move::Proposal(v.clone()),
                };
                self.places[seat].acted = true;
                self.remember(seat, given, &heard, &act);
                self.apply(seat, act);
                Ok(())
            }
            Kept::Refused { seat, tried, answer } => {
                let Some(place) = self.places.get_mut(seat) else { return Err(format!("there is no seat {seat}")) };
                let turn = place.issued.saturating_sub(1);
                let given = given_of_try(&tried);
                let key = (turn, place.tries.len() as u32);
                let message = ServerMessage::Refused(answer);
                place.answers.insert(key, Answer { given, at: self.events.len(), canonical: None, message });
                place.tries.push(tried);
                place.acted = true;
                self.renew_try(seat);
                Ok(())
            }
            Kept::End(_) => Err("an end stands in the log of a running match".into()),
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
        Some(Question { seat, turn: place.issued.saturating_sub(1), legal, state, draw, peek })
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
    pub fn spectator_view(&self, to: Watcher, views: &[MatchView]) -> ludex_protocol::server::SeatView {
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
            Input::Failed { seat, message } => {
                if !self.over() {
                    tracing::warn!(match_id = self.id(), seat, %message, "an in-process agent failed");
                    self.finish(Reason::AgentError, Some(seat));
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
                ErrorMessage::new(ErrorCode::MatchOver, "the match is over").into()
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

    /// The rule of keys, in this order: known and the same: the first answer again; a lower turn: stale; known and
    /// another move: conflict; a higher turn or try: not yet. None of these costs a try.
    fn act(&mut self, now: u64, seat: Seat, re: i64, act: Act) {
        let Some(chosen) = act.chosen() else {
            let e = ErrorMessage::new(ErrorCode::BadField, "an act has exactly one of action, text and proposal");
            return self.reply(seat, re, e.path("action").into());
        };
        let key = (act.turn, act.attempt);
        let place = &self.places[seat];
        let current = place.issued.checked_sub(1);
        if let Some(answer) = place.answers.get(&key) {
            if self.same_move(seat, answer, &chosen) {
                let message = answer.message.clone();
                return self.reply(seat, re, message);
            }
            let code = if current.is_some_and(|c| act.turn < c) { ErrorCode::StaleTurn } else { ErrorCode::Conflict };
            let text = format!("turn {} try {} was answered with another move", act.turn, act.attempt);
            return self.reply(seat, re, ErrorMessage::new(code, text).into());
        }
        let open = current.filter(|_| place.open.is_some());
        let tries = place.tries.len() as u32;
        let e = match (open, current) {
            _ if self.over() => ErrorMessage::new(ErrorCode::MatchOver, "the match is over"),
            (_, Some(c)) if act.turn < c => {
                ErrorMessage::new(ErrorCode::StaleTurn, format!("turn {} is past; this seat is at turn {c}", act.turn))
            }
            (Some(c), _) if act.turn == c && act.attempt == tries => {
                return self.play(now, seat, re, chosen, act.notes);
            }
            (Some(c), _) => ErrorMessage::new(
                ErrorCode::NotYourTurn,
                format!("this seat is at turn {c} try {tries}, not at turn {} try {}", act.turn, act.attempt),
            ),
            _ => ErrorMessage::new(ErrorCode::NotYourTurn, "this seat is not to move"),
        };
        self.reply(seat, re, e.into());
    }

    fn same_move(&self, seat: Seat, answer: &Answer, chosen: &Move) -> bool {
        if answer.given == *chosen {
            return true;
        }
        let Some(canonical) = &answer.canonical else { return false };
        self.state_at(answer.at).read(seat, &given_of(chosen)).is_ok_and(|heard| heard == *canonical)
    }

    /// The position after the first `n` events.
    fn state_at(&self, n: usize) -> Box<dyn DynState> {
        replay(&*self.setup.game, &self.events[..n.min(self.events.len())])
    }

    fn play(&mut self, now: u64, seat: Seat, re: i64, chosen: Move, notes: Option<Notes>) {
        let notes = notes.filter(|n| !n.is_empty());
        self.places[seat].acted = true;
        match self.state.read(seat, &given_of(&chosen)) {
            Ok(heard) => {
                let act = self.accept(now, seat, &heard, notes, false);
                let answer = self.remember(seat, chosen, &heard, &act);
                self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
                self.reply(seat, re, answer);
                self.apply(seat, act);
            }
            Err(refusal) => self.refuse(now, seat, re, chosen, refusal, notes),
        }
    }

    /// Stops the clock and builds the row of a move that counts.
    fn accept(&mut self, now: u64, seat: Seat, heard: &Heard, notes: Option<Notes>, forced: bool) -> KeptAct {
        let ms = self.clocks.stop(seat, now);
        let place = &self.places[seat];
        let (action, said) = match heard {
            Heard::Action(a) => (Some(*a), None),
            Heard::Said(v) => (None, Some(v.clone())),
        };
        let (turn, attempt) = (place.issued.saturating_sub(1), place.tries.len() as u32);
        KeptAct { seat, turn, attempt, action, said, ms, notes, forced, bank_ms: self.clocks.banks()[seat] }
    }

    /// Keeps the answer `accepted` under its key and returns it.
    fn remember(&mut self, seat: Seat, given: Move, heard: &Heard, act: &KeptAct) -> ServerMessage {
        let text = match heard {
            Heard::Action(a) => self.state.view(Viewer::Seat(seat)).action_text(seat, *a),
            Heard::Said(v) => self.state.seen_said(Viewer::Seat(seat), seat, v).text.unwrap_or_default(),
        };
        let accepted =
            Accepted { match_id: self.id().to_owned(), turn: act.turn, action: act.action, text, bank_ms: act.bank_ms };
        let message = ServerMessage::Accepted(accepted);
        let answer = Answer { given, at: self.events.len(), canonical: Some(heard.clone()), message: message.clone() };
        self.places[seat].answers.insert((act.turn, act.attempt), answer);
        message
    }

    fn refuse(&mut self, now: u64, seat: Seat, re: i64, chosen: Move, why: ludex_env::Refusal, notes: Option<Notes>) {
        let policy = self.setup.header.illegal;
        let ms = self.clocks.used(seat, now);
        let place = &mut self.places[seat];
        let tried = Try {
            action: if let Move::Id(id) = chosen { Some(id) } else { None },
            text: if let Move::Text(t) = &chosen { Some(t.clone()) } else { None },
            proposal: if let Move::Proposal(p) = &chosen { Some(p.clone()) } else { None },
            code: ErrorCode::IllegalAction,
            ms,
            notes,
        };
        let attempt = place.tries.len() as u32;
        place.tries.push(tried.clone());
        let tries_left = policy.tries.saturating_sub(attempt + 1);
        let turn = place.issued.saturating_sub(1);
        let issues = why.issues.into_iter().map(|i| ludex_protocol::server::Issue {
            path: i.path,
            got: Some(i.got),
            allowed: Some(i.allowed),
            message: i.message,
        });
        let issues: Vec<_> = issues.collect();
        let refused = Refused {
            match_id: self.setup.header.episode.clone(),
            turn,
            attempt: attempt + 1,
            code: ErrorCode::IllegalAction,
            message: why.message,
            tries_left,
            legal: Some(legal_of(&*self.state, seat)),
            issues: (!issues.is_empty()).then_some(issues),
            then: (tries_left == 0).then_some(policy.policy),
        };
        let message = ServerMessage::Refused(Box::new(refused.clone()));
        let answer = Answer { given: chosen, at: self.events.len(), canonical: None, message: message.clone() };
        self.places[seat].answers.insert((turn, attempt), answer);
        self.out.push(Output::Keep(Box::new(Kept::Refused { seat, tried, answer: Box::new(refused) })));
        self.reply(seat, re, message);
        if tries_left > 0 {
            return self.renew_try(seat);
        }
        let forced = match policy.policy {
            IllegalPolicy::Forfeit => return self.finish(Reason::Illegal, Some(seat)),
            IllegalPolicy::Default => self.state.default_action(seat),
            IllegalPolicy::Random => {
                // A purpose of its own, and the seat's own turn: the same for everybody who replays it.
                let mut rng = Stream::named(&format!("{}:{seat}:{turn}", hex::encode(self.draw.other("policy"))));
                self.state.random_action(seat, &mut rng)
            }
        };
        let act = self.accept(now, seat, &Heard::Action(forced), None, true);
        self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
        self.apply(seat, act);
    }

    /// The open turn shows the number of tries, for those who come back.
    fn renew_try(&mut self, seat: Seat) {
        let place = &mut self.places[seat];
        let tries = place.tries.len() as u32;
        if let Some(open) = &mut place.open {
            open.attempt = tries;
        }
    }

    fn answer(&mut self, now: u64, seat: Seat, turn: u32, given: Given, notes: Option<Notes>) {
        let expected = self.places.get(seat).is_some_and(|p| p.asked && p.issued.checked_sub(1) == Some(turn));
        if self.over() || !expected {
            return;
        }
        self.places[seat].acted = true;
        match self.state.read(seat, &given) {
            Ok(heard) => {
                let act = self.accept(now, seat, &heard, notes.filter(|n| !n.is_empty()), false);
                self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
                self.apply(seat, act);
            }
            Err(refusal) => {
                tracing::warn!(match_id = self.id(), seat, %refusal, "an in-process agent made an illegal move");
                self.finish(Reason::AgentError, Some(seat));
            }
        }
    }

    // ---- the course of the game -----------------------------------------------------------------------------------

    /// Plays an accepted move, or keeps it until the joint move is complete.
    fn apply(&mut self, seat: Seat, act: KeptAct) {
        let place = &mut self.places[seat];
        place.open = None;
        place.asked = false;
        if let Turn::Together(acting) = self.state.turn() {
            place.pending = Some(act);
            if acting.iter().any(|s| self.places[s].pending.is_none()) {
                return;
            }
            self.play_together();
        } else {
            self.play_one(act);
        }
        self.settle();
    }

    fn play_one(&mut self, act: KeptAct) {
        let before = self.state.boxed();
        match (act.action, &act.said) {
            (Some(a), _) => self.state.play_unchecked(a),
            (None, Some(said)) => {
                if let Err(e) = self.state.play_said(act.seat, said) {
                    // `read` gave this very document; a game that refuses it now is wrong, and the match must not hang.
                    tracing::error!(match_id = self.id(), %e, "a canonical saying was refused");
                }
            }
            (None, None) => {}
        }
        self.record_move(&act, false);
        self.tell_move(&*before, &act);
        self.tell_changes();
    }

    fn play_together(&mut self) {
        let before = self.state.boxed();
        let acts: Vec<KeptAct> = self.places.iter_mut().filter_map(|p| p.pending.take()).collect();
        let mut joint = vec![0; self.places.len()];
        for act in &acts {
            joint[act.seat] = act.action.unwrap_or(0);
        }
        self.state.play_together_unchecked(&joint);
        for (k, act) in acts.iter().enumerate() {
            self.record_move(act, k + 1 < acts.len());
        }
        for act in &acts {
            self.tell_move(&*before, act);
        }
        self.tell_changes();
    }

    fn record_move(&mut self, act: &KeptAct, more: bool) {
        let tries = std::mem::take(&mut self.places[act.seat].tries);
        self.events.push(RecordEvent::Move(MoveRecord {
            seat: act.seat as u32,
            turn: act.turn,
            action: act.action,
            said: act.said.clone(),
            ms: act.ms,
            tries,
            notes: act.notes.clone(),
            forced: act.forced,
            more,
        }));
    }

    /// A turn that a forfeit ended keeps what was tried in it, as a move without an action.
    fn record_unanswered(&mut self, seat: Seat) {
        let tries = std::mem::take(&mut self.places[seat].tries);
        if !tries.is_empty() {
            let turn = self.places[seat].issued.saturating_sub(1);
            self.events.push(RecordEvent::Move(MoveRecord { seat: seat as u32, turn, tries, ..MoveRecord::default() }));
        }
    }

    /// The events of one move, each viewer its own.
    fn tell_move(&mut self, before: &dyn DynState, act: &KeptAct) {
        let seat = act.seat;
        for to in self.logs.watchers() {
            let seen = match (to, act.action, &act.said) {
                // Full spectators see what the mover knows of its own move.
                (Watcher::Full, Some(a), _) => ludex_env::Seen {
                    action: Some(a),
                    text: Some(before.view(Viewer::Seat(seat)).action_text(seat, a)),
                },
                (Watcher::Full, None, Some(said)) => before.seen_said(Viewer::Seat(seat), seat, said),
                (_, Some(a), _) => before.seen(to.viewer(), Mover::Seat(seat), a),
                (_, None, Some(said)) => before.seen_said(to.viewer(), seat, said),
                _ => continue,
            };
            if let Some(text) = seen.text {
                let (seat, ms, forced) = (seat as u32, act.ms, act.forced);
                self.emit(to, EventKind::Move { seat, action: seen.action, text, ms, forced });
            }
            if let Some(say) = act.notes.as_ref().and_then(|n| n.say.clone()) {
                self.emit(to, EventKind::Say { seat: seat as u32, text: say });
            }
        }
    }

    /// Rewards, revelations and the phase after a transition.
    fn tell_changes(&mut self) {
        let now = self.state.returns();
        let rewards: Vec<f64> = now.iter().zip(&self.returns).map(|(n, b)| n - b).collect();
        let paid = self.setup.game.spec().rewards == RewardModel::Step && rewards.iter().any(|&r| r != 0.0);
        self.returns = now;
        let phase = self.state.phase();
        let entered = phase.filter(|p| Some(*p) != self.phase);
        self.phase = phase;
        for to in self.logs.watchers() {
            for (text, data) in self.state.reveals(to.viewer()) {
                if self.logs.first_time(to, &text) {
                    self.emit(to, EventKind::Reveal { text, data });
                }
            }
            if paid {
                self.emit(to, EventKind::Reward { rewards: rewards.clone() });
            }
            if let Some(phase) = entered {
                self.emit(to, EventKind::Phase { phase: phase.to_owned() });
            }
        }
    }

    /// Goes on until somebody has to be asked or the episode is over.
    fn settle(&mut self) {
        while !self.over() {
            match self.state.turn() {
                Turn::Over => return self.finish(Reason::Finished, None),
                Turn::Chance => self.play_chance(),
                Turn::Seat(seat) => {
                    if self.skips(seat) {
                        self.play_forced(seat);
                        continue;
                    }
                    return self.ask(seat);
                }
                Turn::Together(acting) => return acting.iter().for_each(|seat| self.ask(seat)),
            }
        }
    }

    fn play_chance(&mut self) {
        self.state.chance(&mut self.outcomes);
        let Some(a) = self.draw.pick(&self.outcomes) else {
            tracing::error!(match_id = self.id(), "a chance node without outcomes");
            return self.finish(Reason::InfraError, None);
        };
        let before = self.state.boxed();
        self.state.play_unchecked(a);
        self.events.push(RecordEvent::Chance(ChanceRecord { action: Some(a) }));
        for to in self.logs.watchers() {
            let seen = match to {
                Watcher::Full => ludex_env::Seen { action: Some(a), text: Some(before.outcome_text(a)) },
                _ => before.seen(to.viewer(), Mover::Chance, a),
            };
            if let Some(text) = seen.text {
                self.emit(to, EventKind::Chance { action: seen.action, text });
            }
        }
        self.tell_changes();
    }

    fn skips(&self, seat: Seat) -> bool {
        self.setup.skip_forced
            && self.setup.game.spec().information == Information::Perfect
            && ludex_env::erased::legal_list(&*self.state, seat).len() == 1
    }

    fn play_forced(&mut self, seat: Seat) {
        let only = self.state.default_action(seat);
        let turn = self.places[seat].issued;
        self.places[seat].issued += 1;
        let bank_ms = self.clocks.banks()[seat];
        let act = KeptAct {
            seat,
            turn,
            attempt: 0,
            action: Some(only),
            said: None,
            ms: 0,
            notes: None,
            forced: true,
            bank_ms,
        };
        self.play_one(act);
    }

    /// Asks a seat for its next move.
    fn ask(&mut self, seat: Seat) {
        let place = &mut self.places[seat];
        let turn = place.issued;
        place.issued += 1;
        if !self.setup.seats[seat].remote {
            place.asked = true;
            self.out.push(Output::Ask(seat));
            return;
        }
        let setup = &self.setup.seats[seat];
        let legal = ludex_env::erased::legal_list(&*self.state, seat);
        let viewer = Viewer::Seat(seat);
        let names = setup.views.contains(&MatchView::Texts).then(|| {
            let view = self.state.view(viewer);
            legal.iter().map(|&a| view.action_text(seat, a)).collect()
        });
        let layout = if setup.openspiel { Layout::OpenSpiel } else { Layout::Ludex };
        let frame = TurnFrame {
            seq: 0,
            match_id: self.setup.header.episode.clone(),
            turn,
            attempt: 0,
            budget_ms: self.clocks.budget(seat, turn == 0),
            bank_ms: self.clocks.banks().to_vec(),
            legal: legal_of(&*self.state, seat),
            names,
            view: view_of(&*self.state, viewer, &setup.views, layout),
            phase: self.state.phase().map(str::to_owned),
        };
        let ply = self.events.len();
        let frame = self.logs.push(Watcher::Seat(seat), MatchFrame::Turn(Box::new(frame)), ply);
        if let MatchFrame::Turn(turn) = &frame {
            self.places[seat].open = Some(turn.clone());
        }
        self.out.push(Output::Frame { to: Watcher::Seat(seat), frame: Box::new(frame) });
    }

    fn finish(&mut self, reason: Reason, at_fault: Option<Seat>) {
        self.clocks.halt();
        if let Some(seat) = at_fault {
            self.record_unanswered(seat);
        }
        for place in &mut self.places {
            place.open = None;
            place.asked = false;
            place.pending = None;
        }
        let record = match self.past.take() {
            Some(record) => *record,
            None => self.record_of(reason, at_fault),
        };
        self.out.push(Output::Keep(Box::new(Kept::End(Box::new(record.clone())))));
        let release = self.setup.release;
        let end = MatchEnd {
            seq: 0,
            match_id: self.id().to_owned(),
            returns: record.footer.returns.clone(),
            outcome: record.footer.outcome.clone(),
            reason,
            at_fault: at_fault.map(|s| s as u32),
            rated: self.setup.header.rated && reason.counts(),
            digest: record.footer.digest.clone().filter(|_| release),
            seed: record.footer.seed.clone().filter(|_| release),
            salt: record.footer.salt.clone().filter(|_| release),
            record: format!("/episodes/{}", self.id()),
        };
        let ply = self.events.len();
        for to in self.logs.watchers() {
            let frame = self.logs.push(to, MatchFrame::MatchEnd(Box::new(end.clone())), ply);
            self.out.push(Output::Frame { to, frame: Box::new(frame) });
        }
        self.ended = Some(record);
        self.out.push(Output::Over);
    }

    /// The record of a match that ends here.
    fn record_of(&self, reason: Reason, at_fault: Option<Seat>) -> Record {
        let spec = self.setup.game.spec();
        let mut returns = self.state.returns();
        if let Some(seat) = at_fault {
            ludex_env::batch::forfeit(spec, seat, &mut returns);
        }
        let mut record = Record {
            header: self.setup.header.clone(),
            events: self.events.clone(),
            footer: Footer {
                outcome: ludex_referee::outcome::outcomes(spec, &returns, reason, at_fault),
                returns,
                reason: Some(reason),
                at_fault: at_fault.map(|s| s as u32),
                ended: Some(super::now_text()),
                run: self.setup.run.clone(),
                pair: self.setup.pair.clone(),
                seed: Some(self.setup.seed.to_string()),
                salt: Some(hex::encode(self.setup.salt)),
                digest: None,
            },
        };
        record.footer.digest = digest_of(&record);
        record
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

/// The position after `events`, played without checks: for records of this very machine.
pub(super) fn replay(game: &dyn ludex_env::DynGame, events: &[RecordEvent]) -> Box<dyn DynState> {
    let mut state = game.start();
    let players = game.spec().players as usize;
    let mut joint = vec![0; players];
    for event in events {
        match event {
            RecordEvent::Chance(c) => state.play_unchecked(c.action.unwrap_or(0)),
            RecordEvent::Move(m) if m.action.is_none() && m.said.is_none() => {}
            RecordEvent::Move(m) if matches!(state.turn(), Turn::Together(_)) => {
                joint[m.seat as usize % players] = m.action.unwrap_or(0);
                if !m.more {
                    state.play_together_unchecked(&joint);
                }
            }
            RecordEvent::Move(m) => match (&m.action, &m.said) {
                (Some(a), _) => state.play_unchecked(*a),
                (None, Some(said)) => drop(state.play_said(m.seat as usize, said)),
                (None, None) => {}
            },
        }
    }
    state
}

/// The digest of a finished record; `None` only for numbers that JSON cannot carry.
fn digest_of(record: &Record) -> Option<String> {
    let parts = Parts::parse(&record.to_line().ok()?).ok()?;
    digest::digest(&parts).ok()
}

fn given_of(m: &Move) -> Given {
    match m {
        Move::Id(id) => Given::Id(*id),
        Move::Text(t) => Given::Text(t.clone()),
        Move::Proposal(p) => Given::Proposal(p.clone()),
        Move::None => Given::Id(-1),
    }
}

fn given_of_try(t: &Try) -> Move {
    match (t.action, &t.text, &t.proposal) {
        (Some(id), ..) => Move::Id(id),
        (_, Some(text), _) => Move::Text(text.clone()),
        (_, _, Some(p)) => Move::Proposal(p.clone()),
        _ => Move::None,
    }
}
