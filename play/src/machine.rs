//! One match as a state machine without IO: timed inputs go in, ordered outputs come out.
//!
//! The server, `ludex match`, session resume, crash recovery and tests all drive this machine. The machine has no
//! task, timer or random number generator: time is an argument, and chance is drawn from the episode's seed.
//!
//! Outputs must take effect in order. In a rated match, the outputs after an [`Output::Persist`] may be sent only once
//! its row is durable. The driver waits for the write; the machine does not.
//!
//! The machine owns rules, clocks, attempts and the match log. Frames for subscribed watchers
//! ([`MatchMachine::add_watcher`]) are built as events happen. Frames of earlier events are rebuilt from the log.

mod act_replies;
mod advance;
mod clock;
mod end;
pub mod interface;
pub mod known_answers;
mod match_log;
mod narrator;
mod prompts;
mod replay_cursor;
mod restore;
pub(crate) mod seat_history;
mod seat_prompts;
mod submit;
mod watcher;

use ludex_agents::Agent;
use ludex_env::batch::Layout;
use ludex_env::draw::Key;
use ludex_env::message_views::view_of;
use ludex_env::picture::mark_last;
use ludex_env::{Action, AgentKey, Draw, DynState, MoveRequest, Outcomes, PriorAttempt, Seat};
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::MatchView;
use ludex_protocol::message::{MatchFrame, PictureView, ResumedMatch, Resync, SeatView, ServerMessage, TurnFrame};
use ludex_protocol::record::{EndReason, Header, Record, RecordEvent, RefusedMove};
use ludex_protocol::spec::Information;

use self::clock::Clocks;
use self::interface::{AcceptedMove, Input, LogRow, MatchSetup, Output, OwnedMoveRequest};
use self::match_log::MatchLog;
use self::narrator::{Narrator, seen_of};
use self::prompts::PromptedTurn;
use self::replay_cursor::ReplayCursor;
pub use self::restore::EndedState;
use self::seat_history::SeatHistory;
pub use self::watcher::Watcher;
use crate::time::Since;

/// Offset added to frame numbers at each restart, so that earlier frame numbers are recognized as stale.
pub const RESTART_STEP: u64 = 1_000_000;

#[derive(Default)]
struct SeatState {
    /// Number of turns issued so far; the open turn has number `issued - 1`.
    issued: u32,
    /// True while a client's move request is pending.
    open: bool,
    /// True while an in-process agent's move request is pending.
    asked: bool,
    /// The seat's part of a joint move, buffered until all acting seats have moved.
    pending: Option<AcceptedMove>,
    tries: Vec<RefusedMove>,
    /// The refused attempts in `tries`, in the form passed to an in-process agent.
    attempts: Vec<PriorAttempt>,
    /// Legal actions of the pending request to an in-process agent.
    legal: Vec<Action>,
    /// Observed history, for in-process agents that need it.
    memory: Option<SeatHistory>,
    online: bool,
    away_since: Option<u64>,
    /// Milliseconds for which the client was disconnected, up to its last return.
    away_ms: u64,
    /// True once the client has been connected, or has submitted a move.
    reached: bool,
    /// True from a restart until the client reconnects; the seat's clock does not start before then.
    waits: bool,
    /// Milliseconds during which the host could not read from this seat.
    stalled: u64,
}

/// State machine of one match; see the [module](self).
pub struct MatchMachine {
    setup: MatchSetup,
    state: Box<dyn DynState>,
    draw: Draw,
    agent_key: Key,
    outcomes: Outcomes,
    log: MatchLog,
    time: Since,
    /// Time of the latest input, in milliseconds of the host's clock.
    now: u64,
    places: Vec<SeatState>,
    clocks: Clocks,
    narrator: Option<Narrator>,
    /// True if the machine emits [`Output::Persist`].
    keeps: bool,
    /// Number of decisions so far that count toward the excerpt's limit.
    decisions: u32,
    /// Record of a match that ended before a restart.
    recalled: Option<Box<Record>>,
    out: Vec<Output>,
}

impl MatchMachine {
    /// Creates a match that has not started. The match's clients are subscribed; add other watchers with
    /// [`MatchMachine::add_watcher`].
    pub fn new(setup: MatchSetup, now: u64) -> Self {
        let seats = setup.seats.len();
        let draw = Draw::new(setup.game.id(), setup.seed, 0);
        let clients: Vec<_> = (0..seats).filter(|&s| setup.seats[s].remote).map(Watcher::Seat).collect();
        MatchMachine {
            agent_key: draw.other("agent"),
            draw,
            outcomes: Outcomes::new(),
            log: MatchLog::new(setup.header.clone()),
            time: match setup.restarts {
                0 => Since::just(&setup.header.started),
                _ => Since::later_than(&setup.header.started),
            },
            now,
            places: (0..seats).map(|_| SeatState { reached: setup.follows, ..SeatState::default() }).collect(),
            clocks: Clocks::new(setup.header.clock.clone(), seats, now),
            narrator: (!clients.is_empty()).then(|| Narrator::new(&setup, clients).drawing()),
            keeps: true,
            decisions: 0,
            recalled: None,
            out: Vec::new(),
            state: setup.game.start(),
            setup,
        }
    }

    /// Disables [`Output::Persist`], for a driver without a store.
    pub fn without_rows(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// Subscribes `to` to the frames of later events. [`MatchMachine::replay_frames`] returns the earlier frames.
    pub fn add_watcher(&mut self, to: Watcher) {
        if self.narrator.as_ref().is_some_and(|n| n.has_subscriber(to)) {
            return;
        }
        let mut new = Narrator::new(&self.setup, [to]);
        new.emit(&self.setup, &self.log, &[], &mut |_, _| {});
        match &mut self.narrator {
            Some(narrator) => narrator.join(new),
            None => self.narrator = Some(new),
        }
    }

    // ---- queries
    // ------------------------------------------------------------------------------------------------------

    pub fn id(&self) -> &str {
        &self.setup.header.episode
    }

    /// Returns the header of the record.
    pub fn header(&self) -> &Header {
        &self.setup.header
    }

    pub fn setup(&self) -> &MatchSetup {
        &self.setup
    }

    /// Returns the complete record, including hidden parts, of a match that has ended.
    pub fn record(&self) -> Option<&Record> {
        self.log.record()
    }

    /// Returns the record of a match that has ended.
    pub fn into_record(self) -> Option<Record> {
        self.log.into_record()
    }

    /// Returns the events so far with public information only, for the page of a running match.
    pub fn public_events(&self) -> Vec<MatchFrame> {
        let mut frames = self.replay_frames(Watcher::Public, &[]);
        frames.retain(|f| matches!(f, MatchFrame::Event(_)));
        frames
    }

    /// Returns true if the match has ended.
    pub fn is_over(&self) -> bool {
        self.log.record().is_some()
    }

    /// Returns the time at which the next [`Input::Tick`] is due, in milliseconds of the host's clock.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let away = self.reconnect_deadline().map(|(at, _)| at);
        [self.clocks.next().map(|n| n.0), away].into_iter().flatten().min()
    }

    /// Starts the clocks of turns that have just been written to their sockets.
    pub fn start_client_clocks(&mut self, now: u64) {
        for (seat, place) in self.places.iter().enumerate() {
            if place.open && !place.waits && place.away_since.is_none() {
                self.clocks.start(seat, place.issued == 1, now);
            }
        }
    }

    /// Starts the clock of an in-process agent's turn, for a driver that requests the move immediately. Refused
    /// attempts do not restart the clock.
    pub fn start_agent_clock(&mut self, now: u64, seat: Seat) {
        if let Some(place) = self.places.get(seat).filter(|p| p.asked) {
            self.clocks.start(seat, place.issued == 1, now);
        }
    }

    /// Returns the pending move request for an in-process agent, for a driver without clocks that calls the agent on
    /// this thread.
    pub fn ask(&mut self, seat: Seat, agent: &dyn Agent) -> Option<MoveRequest<'_>> {
        let place = self.places.get_mut(seat).filter(|p| p.asked)?;
        place.legal.clear();
        self.state.legal(seat, &mut place.legal);
        if agent.needs_history() {
            let memory = place.memory.get_or_insert_with(|| SeatHistory::new(&*self.setup.game));
            memory.grow(seat, self.log.events());
        }
        let turn = place.issued.saturating_sub(1);
        let ask = MoveRequest::on_state(&*self.state, seat, turn, &place.legal, AgentKey::Own(&self.agent_key));
        let ask = ask.with_attempts(&place.attempts);
        let ask = if let Some(memory) = &place.memory { ask.with_history(&memory.past) } else { ask };
        Some(if agent.needs_full_state() && !self.setup.header.rated { ask.with_peek() } else { ask })
    }

    /// Returns the pending move request for an in-process agent, in a form that can be sent to another thread, and
    /// starts the agent's clock. If the clock rule sets no limit, the agent has `limit_ms` milliseconds for the turn.
    pub fn agent_request(
        &mut self,
        now: u64,
        seat: Seat,
        agent: &dyn Agent,
        limit_ms: u64,
    ) -> Option<OwnedMoveRequest> {
        let peek = agent.needs_full_state() && !self.setup.header.rated;
        self.ask(seat, agent)?;
        let place = &self.places[seat];
        self.clocks.start_agent(seat, place.issued == 1, now, limit_ms);
        Some(OwnedMoveRequest {
            seat,
            turn: place.issued.saturating_sub(1),
            left_ms: self.clocks.remaining_ms(seat, now),
            legal: place.legal.clone(),
            state: self.state.boxed(),
            key: self.agent_key,
            peek,
            past: place.memory.as_ref().map(|m| m.past.clone()),
            attempts: place.attempts.clone(),
        })
    }

    /// Returns the entry of this match in the `welcome` of a client that resumes `seat`.
    pub fn resume_entry(&self, seat: Seat) -> ResumedMatch {
        let to = Watcher::Seat(seat);
        let seq = self.replay_frames(to, &[]).last().map_or(0, MatchFrame::seq);
        ResumedMatch { match_id: self.id().to_owned(), seat: Some(seat as u32), seq }
    }

    /// Returns the frames after frame number `seen`, or a single `resync` if `seen` is unknown. An open turn is
    /// repeated with its original number, even if the number is not above `seen`.
    pub fn catch_up(&self, to: Watcher, seen: Option<u64>) -> Vec<ServerMessage> {
        let base = u64::from(self.setup.restarts) * RESTART_STEP;
        let mut frames = self.replay_frames(to, &[]);
        let Some(last) = frames.last().map(MatchFrame::seq) else { return Vec::new() };
        let Some(seen) = seen.filter(|seen| (base..=last).contains(seen)) else {
            return vec![self.resync_of(to, frames)];
        };
        let open = self.open_turn(to, &frames).filter(|turn| turn.seq <= seen);
        frames.retain(|f| f.seq() > seen);
        frames.into_iter().map(ServerMessage::from).chain(open.map(ServerMessage::Turn)).collect()
    }

    /// Returns one message with the whole match so far.
    pub fn resync(&self, to: Watcher) -> ServerMessage {
        self.resync_of(to, self.replay_frames(to, &[]))
    }

    fn resync_of(&self, to: Watcher, frames: Vec<MatchFrame>) -> ServerMessage {
        let turn = self.open_turn(to, &frames);
        let seq = frames.last().map_or(0, MatchFrame::seq);
        let (mut start, mut events, mut end) = (None, Vec::new(), None);
        for frame in frames {
            match frame {
                MatchFrame::MatchStart(s) => start = Some(s),
                MatchFrame::MatchEnd(e) => end = Some(e),
                MatchFrame::Event(_) => events.push(frame),
                MatchFrame::Turn(_) => {}
            }
        }
        let match_id = self.id().to_owned();
        let start = start.unwrap_or_default();
        ServerMessage::Resync(Box::new(Resync { seq, match_id, seat: to.seat(), start, events, turn, end }))
    }

    /// Returns the open turn of a seat (the last turn in `frames`) with the current attempt number.
    fn open_turn(&self, to: Watcher, frames: &[MatchFrame]) -> Option<Box<TurnFrame>> {
        let Watcher::Seat(seat) = to else { return None };
        let place = self.places.get(seat).filter(|p| p.open)?;
        let turn = frames.iter().rev().find_map(|f| if let MatchFrame::Turn(t) = f { Some(t) } else { None })?;
        let mut turn = turn.clone();
        turn.attempt = place.tries.len() as u32;
        Some(turn)
    }

    /// Returns all frames of a watcher so far, with the requested views in each event. Only the last event has a
    /// picture, since the pictures of a long match would overflow a mailbox. For other pictures, use
    /// [`MatchMachine::picture_after`].
    pub fn replay_frames(&self, to: Watcher, views: &[MatchView]) -> Vec<MatchFrame> {
        let mut frames = Vec::new();
        if !self.log.begun {
            return frames;
        }
        let of_seat = |s: Seat| self.setup.seats[s].views.contains(&MatchView::Picture);
        let drawn = views.contains(&MatchView::Picture) || matches!(to, Watcher::Seat(s) if of_seat(s));
        let views: Vec<MatchView> = views.iter().copied().filter(|v| *v != MatchView::Picture).collect();
        let mut narrator = Narrator::new(&self.setup, [to]);
        narrator.emit(&self.setup, &self.log, &views, &mut |_, frame| frames.push(frame));
        if let (Watcher::Seat(seat), Some(MatchFrame::Turn(turn))) = (to, frames.last_mut())
            && self.places[seat].open
        {
            self.add_prompt(turn);
        }
        let last = frames.iter_mut().rev().find_map(|f| if let MatchFrame::Event(e) = f { Some(e) } else { None });
        if let (true, Some(last)) = (drawn, last) {
            last.view.get_or_insert_default().picture = self.spectator_view(to, &[MatchView::Picture]).picture;
        }
        frames
    }

    /// Returns the picture for `to` after the first `seen` moves and chance outcomes that `to` can see. If there are
    /// fewer, returns the picture after the last of them.
    pub fn picture_after(&self, to: Watcher, seen: usize) -> Option<PictureView> {
        let mut left = seen;
        let mut position = ReplayCursor::new(&*self.setup.game);
        let mut last = None;
        while let Some(transition) = position.next(self.log.events()) {
            let visible = transition.iter().filter(|e| seen_of(&*position.state, to, e).text.is_some()).count();
            if visible > 0 && left == 0 {
                break;
            }
            left = left.saturating_sub(visible);
            last = Some(position.at);
            position.play(transition);
        }
        let view = view_of(&*position.state, to.viewer(), &[MatchView::Picture], Layout::Ludex);
        view.picture.map(|mut picture| {
            let touched = last.map(|at| self.touched_at(self.log.events(), at));
            mark_last(&mut picture.svg, &touched.unwrap_or_default());
            picture
        })
    }

    /// Returns the cells touched by the transition that starts with event `at`.
    fn touched_at(&self, events: &[RecordEvent], at: usize) -> Vec<String> {
        let mut position = ReplayCursor::new(&*self.setup.game);
        if position.state.spec().information != Information::Perfect {
            return Vec::new();
        }
        while let Some(transition) = position.next(events) {
            if position.at == at {
                return position.touched(transition);
            }
            position.play(transition);
        }
        Vec::new()
    }

    /// Returns the views of the current position for a spectator.
    pub fn spectator_view(&self, to: Watcher, views: &[MatchView]) -> SeatView {
        let others: Vec<MatchView> = views.iter().copied().filter(|view| *view != MatchView::Picture).collect();
        let mut view = view_of(&*self.state, to.viewer(), &others, Layout::Ludex);
        if views.contains(&MatchView::Picture) {
            view.picture = self.picture_after(to, usize::MAX);
        }
        view
    }

    /// Returns the current position, as seen by `to`, as human-readable text.
    pub fn drawing(&self, to: Watcher) -> String {
        self.state.view(to.viewer()).drawing(to.viewer())
    }

    // ---- inputs
    // -------------------------------------------------------------------------------------------------------

    /// Applies one input at `now` (milliseconds of the host's monotonic clock) and returns the resulting outputs.
    pub fn handle(&mut self, now: u64, input: Input) -> Vec<Output> {
        self.now = now;
        if !matches!(input, Input::Start) {
            self.expire(now);
        }
        match input {
            Input::Start => self.begin(),
            Input::Act { seat, re, act } => self.act(now, seat, re, *act),
            Input::Agent { seat, turn, did } => self.agent(now, seat, turn, did),
            Input::Resign { seat, re } => self.resign(seat, Some(re)),
            Input::Online(seat) => self.presence(now, seat, true),
            Input::Offline(seat) => self.presence(now, seat, false),
            Input::Withdrawn(seat) => {
                if !self.is_over() && seat < self.places.len() {
                    self.resign(seat, None);
                }
            }
            Input::Absent(seat) => {
                if !self.is_over() && seat < self.places.len() {
                    self.finish(EndReason::NoShow, Some(seat));
                }
            }
            Input::Tick => {}
            Input::Abort(reason) => {
                if !self.is_over() {
                    self.finish(reason, None);
                }
            }
        }
        self.narrate();
        std::mem::take(&mut self.out)
    }

    /// Returns the row that stores the suspension of a match at `now`, until its client returns.
    pub fn suspension(&self, now: u64) -> LogRow {
        LogRow::Suspended { away_ms: self.time_away(now), at_ms: crate::time::epoch_ms() }
    }

    /// Returns the milliseconds for which each seat's client was disconnected until `now`.
    fn time_away(&self, now: u64) -> Vec<u64> {
        let open = |p: &SeatState| p.away_since.filter(|_| !p.waits).map_or(0, |since| now.saturating_sub(since));
        self.places.iter().map(|p| p.away_ms + open(p)).collect()
    }

    /// Credits a host stall. `lost[seat]` is the time, in milliseconds, during which the host could not read from that
    /// seat. The seat's clock and reconnect deadline are extended, and the stall is recorded.
    pub fn credit_stall(&mut self, lost: &[u64]) {
        if self.is_over() {
            return;
        }
        for (seat, (place, &ms)) in self.places.iter_mut().zip(lost).enumerate() {
            place.stalled += ms;
            place.away_since = place.away_since.map(|since| since.saturating_add(ms));
            self.clocks.credit(seat, ms);
        }
        self.clocks.credit_episode(lost.iter().copied().max().unwrap_or(0));
    }

    /// Ends the match if a clock or a reconnect deadline expired by `now`.
    fn expire(&mut self, now: u64) {
        if self.is_over() {
            return;
        }
        let clock = self.clocks.next().filter(|&(at, _)| at <= now);
        match (clock, self.reconnect_deadline().filter(|&(at, _)| at <= now)) {
            (Some((at, seat)), away) if away.is_none_or(|(gone, _)| at <= gone) => match seat {
                Some(seat) => self.blame(EndReason::Timeout, seat),
                None => self.finish(EndReason::Truncated, None),
            },
            (_, Some((_, seat))) => self.blame(EndReason::Disconnect, seat),
            _ => {}
        }
    }

    /// Returns the earliest reconnect deadline and the seat that it applies to. All absences of a seat share one grace
    /// time.
    fn reconnect_deadline(&self) -> Option<(u64, Seat)> {
        let grace = self.setup.grace_ms?;
        let until = |p: &SeatState| Some(p.away_since?.saturating_add(grace.saturating_sub(p.away_ms)));
        self.places.iter().enumerate().filter_map(|(seat, p)| Some((until(p)?, seat))).min()
    }

    fn blame(&mut self, reason: EndReason, seat: Seat) {
        // Only a client that the match has never reached missed it. In-process agents are always present.
        let reached = self.places[seat].reached || !self.setup.seats[seat].remote;
        let reason = if reached { reason } else { EndReason::NoShow };
        self.finish(reason, Some(seat));
    }

    fn presence(&mut self, now: u64, seat: Seat, online: bool) {
        let over = self.is_over();
        let Some(place) = self.places.get_mut(seat) else { return };
        if place.online == online && place.away_since.is_some() != online {
            return;
        }
        let first = !place.online && place.away_since.is_none();
        match (online, place.away_since) {
            (true, Some(since)) => {
                let away = now.saturating_sub(since);
                self.clocks.resume(seat, away);
                // The time after a restart is the server's.
                place.away_ms += if place.waits { 0 } else { away };
            }
            (false, None) => self.clocks.pause(seat),
            _ => {}
        }
        place.online = online;
        place.away_since = (!online && !over).then_some(now);
        if online {
            (place.waits, place.reached) = (false, true);
        }
        if over || (first && online) {
            return;
        }
        self.log.presence(seat as u32, online);
    }

    fn resign(&mut self, seat: Seat, re: Option<i64>) {
        let over = self.is_over();
        // A client repeats its resignation if the reply was lost with the connection, and then gets `ok` again.
        let end = self.log.record().map(|r| (r.footer.reason, r.footer.at_fault));
        let again = over && end == Some((Some(EndReason::Resign), Some(seat as u32)));
        self.places[seat].reached = true;
        if let Some(re) = re {
            let message = if over && !again {
                Refusal::new(ErrorCode::MatchOver, "the match is over").into()
            } else {
                ServerMessage::Ok(Default::default())
            };
            self.reply(seat, re, message);
        }
        if !over {
            self.finish(EndReason::Resign, Some(seat));
        }
    }

    fn reply(&mut self, seat: Seat, re: i64, message: ServerMessage) {
        self.out.push(Output::Reply { seat, re, message: Box::new(message) });
    }

    /// Emits a row of the match log, unless rows are disabled.
    fn keep(&mut self, row: impl FnOnce() -> LogRow) {
        if self.keeps {
            self.out.push(Output::Persist(Box::new(row())));
        }
    }

    /// Emits the frames of all events since the last call.
    fn narrate(&mut self) {
        let Some(narrator) = &mut self.narrator else { return };
        let mut frames = Vec::new();
        narrator.emit(&self.setup, &self.log, &[], &mut |to, frame| frames.push((to, frame)));
        for (to, mut frame) in frames {
            if let MatchFrame::Turn(turn) = &mut frame {
                self.add_prompt(turn);
            }
            self.out.push(Output::Frame { to, frame: Box::new(frame) });
        }
    }

    /// Adds the prompt of the open turn, if its seat requested the view.
    fn add_prompt(&self, frame: &mut TurnFrame) {
        let seat = frame.seat as Seat;
        if self.setup.seats[seat].views.contains(&MatchView::Prompt) {
            frame.view.prompt = self.open_prompt(seat, frame.turn).messages().ok();
        }
    }

    /// Returns the open turn of a client's seat, for its prompt.
    fn open_prompt(&self, seat: Seat, turn: u32) -> PromptedTurn<'_> {
        let tries = &self.places[seat].tries;
        PromptedTurn { setup: &self.setup, state: &*self.state, events: self.log.events(), seat, turn, tries }
    }
}
