//! A match as a machine without IO: what comes in with the time it came, what goes out in the order it must happen.
//!
//! Sockets, in-process agents, `ludex match`, resume, crash recovery and the tests all drive this one. It holds no
//! task, no timer and no generator: time is an argument, chance is drawn from the episode's seed.
//!
//! Outputs are in order of effect: what follows an [`Output::Keep`] of a rated match may be shown only when that row is
//! durable. The driver waits there; the machine need not know.
//!
//! The machine keeps the course: rules, clocks, attempts and the story of what happened. Frames are made where somebody
//! listens ([`Match::listen`]), and made again from the story for those who come later.

mod act_replies;
mod advance;
mod clock;
mod end;
pub mod interface;
mod match_log;
mod narrator;
mod replay_cursor;
mod restore;
pub(crate) mod seat_history;
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
use self::replay_cursor::ReplayCursor;
use self::seat_history::SeatHistory;
pub use self::watcher::Watcher;
use crate::time::Since;

/// Numbers of frames restart here times the number of restarts, so that an old `seen` is never mistaken.
pub const RESTART_STEP: u64 = 1_000_000;

#[derive(Default)]
struct SeatState {
    /// Turns issued so far; the open turn is `issued - 1`.
    issued: u32,
    /// Whether a client was asked and has not answered.
    open: bool,
    /// Whether an in-process agent was asked and has not answered.
    asked: bool,
    /// A joint move's part, until all have moved.
    pending: Option<AcceptedMove>,
    tries: Vec<RefusedMove>,
    /// The same refusals as an in-process agent is told them.
    attempts: Vec<PriorAttempt>,
    /// The actions that an in-process agent chooses from.
    legal: Vec<Action>,
    /// What an in-process agent is told about the past, if it reads it.
    memory: Option<SeatHistory>,
    online: bool,
    away_since: Option<u64>,
    /// Whether it ever answered anything.
    acted: bool,
    /// After a restart the clock waits until the client is back.
    waits: bool,
    /// For how many milliseconds the host could not hear it.
    stalled: u64,
}

/// A match. See the module.
pub struct MatchMachine {
    setup: MatchSetup,
    state: Box<dyn DynState>,
    draw: Draw,
    agent_key: Key,
    outcomes: Outcomes,
    story: MatchLog,
    time: Since,
    /// The story of a match that is over and has been packed.
    packed: Option<Box<[u8]>>,
    places: Vec<SeatState>,
    clocks: Clocks,
    narrator: Option<Narrator>,
    /// Whether rows are put out.
    keeps: bool,
    /// Decisions of those whose decisions the excerpt counts.
    decisions: u32,
    /// The record of a match that had ended before a restart.
    recalled: Option<Box<Record>>,
    out: Vec<Output>,
}

impl MatchMachine {
    /// A match before its start. Its clients listen; others do after [`Match::listen`].
    pub fn new(setup: MatchSetup, now: u64) -> Self {
        let seats = setup.seats.len();
        let draw = Draw::new(setup.game.id(), setup.seed, 0);
        let clients: Vec<_> = (0..seats).filter(|&s| setup.seats[s].remote).map(Watcher::Seat).collect();
        MatchMachine {
            agent_key: draw.other("agent"),
            draw,
            outcomes: Outcomes::new(),
            story: MatchLog::new(setup.header.clone()),
            time: match setup.restarts {
                0 => Since::just(&setup.header.started),
                _ => Since::later_than(&setup.header.started),
            },
            packed: None,
            places: (0..seats).map(|_| SeatState::default()).collect(),
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

    /// The same match for a driver without a store: it puts out no rows.
    pub fn without_rows(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// From now on the frames of `to` are put out. Those so far can be had by [`Match::retold`].
    pub fn add_watcher(&mut self, to: Watcher) {
        if self.narrator.as_ref().is_some_and(|n| n.hears(to)) || self.packed.is_some() {
            return;
        }
        let mut new = Narrator::new(&self.setup, [to]);
        new.emit(&self.setup, &self.story, &[], &mut |_, _| {});
        match &mut self.narrator {
            Some(narrator) => narrator.join(new),
            None => self.narrator = Some(new),
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
    pub fn setup(&self) -> &MatchSetup {
        &self.setup
    }

    /// The record, when the match is over and not packed. Complete: what may be shown to whom is the caller's business.
    pub fn record(&self) -> Option<&Record> {
        self.story.record().filter(|_| self.packed.is_none())
    }

    /// The record of a match that is over.
    pub fn into_record(self) -> Option<Record> {
        if self.packed.is_some() { None } else { self.story.into_record() }
    }

    /// The moves so far with what spectators may see of them, for the episode's page while it runs.
    pub fn public_events(&self) -> Vec<MatchFrame> {
        let mut frames = self.replay_frames(Watcher::Public, &[]);
        frames.retain(|f| matches!(f, MatchFrame::Event(_)));
        frames
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.story.record().is_some()
    }

    /// When [`Input::Tick`] is due.
    pub fn next_deadline(&self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let away = self.gone().map(|(at, _)| at);
        [self.clocks.next().map(|n| n.0), away].into_iter().flatten().min()
    }

    /// Starts the clocks of turns that have just been handed to their sockets.
    pub fn start_client_clocks(&mut self, now: u64) {
        for (seat, place) in self.places.iter().enumerate() {
            let held = self.setup.grace_ms.is_none() && place.away_since.is_some();
            if place.open && !place.waits && !held {
                self.clocks.start(seat, place.issued == 1, now);
            }
        }
    }

    /// Starts the time of an in-process agent's turn, for a driver that asks at once. It runs through refused attempts.
    pub fn start_agent_clock(&mut self, now: u64, seat: Seat) {
        if let Some(place) = self.places.get(seat).filter(|p| p.asked) {
            self.clocks.start(seat, place.issued == 1, now);
        }
    }

    /// What an in-process agent is asked, for a driver without clocks that asks at once.
    pub fn ask(&mut self, seat: Seat, agent: &dyn Agent) -> Option<MoveRequest<'_>> {
        let place = self.places.get_mut(seat).filter(|p| p.asked)?;
        place.legal.clear();
        self.state.legal(seat, &mut place.legal);
        if agent.needs_history() {
            let memory = place.memory.get_or_insert_with(|| SeatHistory::new(&*self.setup.game));
            memory.grow(seat, self.story.events());
        }
        let turn = place.issued.saturating_sub(1);
        let ask = MoveRequest::on_state(&*self.state, seat, turn, &place.legal, AgentKey::Own(&self.agent_key));
        let ask = ask.with_attempts(&place.attempts);
        let ask = if let Some(memory) = &place.memory { ask.with_history(&memory.past) } else { ask };
        Some(if agent.needs_full_state() && !self.setup.header.rated { ask.with_peek() } else { ask })
    }

    /// What an in-process agent is asked, to be answered elsewhere. Starts its clock; where the match has none, the agent
    /// has `limit_ms` for the turn.
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

    /// For `welcome`: where a seat stands.
    pub fn resume_entry(&self, seat: Seat) -> ResumedMatch {
        let to = Watcher::Seat(seat);
        let seq = self.replay_frames(to, &[]).last().map_or(0, MatchFrame::seq);
        ResumedMatch { match_id: self.id().to_owned(), seat: Some(seat as u32), seq }
    }

    /// What a watcher gets who saw frames up to `seen`: the frames after it, or one `resync`. An open turn is sent
    /// again, with its old number, even if it was seen.
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

    /// Everything about the match so far in one message.
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
        ServerMessage::Resync(Box::new(Resync { seq, match_id, start, events, turn, end }))
    }

    /// The open turn of a seat, the last among its frames, with the number of tries so far.
    fn open_turn(&self, to: Watcher, frames: &[MatchFrame]) -> Option<Box<TurnFrame>> {
        let Watcher::Seat(seat) = to else { return None };
        let place = self.places.get(seat).filter(|p| p.open)?;
        let turn = frames.iter().rev().find_map(|f| if let MatchFrame::Turn(t) = f { Some(t) } else { None })?;
        let mut turn = turn.clone();
        turn.attempt = place.tries.len() as u32;
        Some(turn)
    }

    /// All frames of a watcher so far, each event with the views asked for. Only the last event has a picture, because
    /// those of a long match would fill any mailbox; [`Match::picture_after`] draws the others.
    pub fn replay_frames(&self, to: Watcher, views: &[MatchView]) -> Vec<MatchFrame> {
        let mut frames = Vec::new();
        let of_seat = |s: Seat| self.setup.seats[s].views.contains(&MatchView::Picture);
        let drawn = views.contains(&MatchView::Picture) || matches!(to, Watcher::Seat(s) if of_seat(s));
        let views: Vec<MatchView> = views.iter().copied().filter(|v| *v != MatchView::Picture).collect();
        self.with_story(|story| {
            let mut narrator = Narrator::new(&self.setup, [to]);
            narrator.emit(&self.setup, story, &views, &mut |_, frame| frames.push(frame));
        });
        let last = frames.iter_mut().rev().find_map(|f| if let MatchFrame::Event(e) = f { Some(e) } else { None });
        if let (true, Some(last)) = (drawn, last) {
            last.view.get_or_insert_default().picture = self.spectator_view(to, &[MatchView::Picture]).picture;
        }
        frames
    }

    /// The picture that `to` sees after `heard` of the moves and outcomes that it hears of; after all of them if there are
    /// fewer.
    pub fn picture_after(&self, to: Watcher, heard: usize) -> Option<PictureView> {
        let mut left = heard;
        let mut drawn = None;
        self.with_story(|story| {
            let mut position = ReplayCursor::new(&*self.setup.game);
            let mut last = None;
            while let Some(transition) = position.next(story.events()) {
                let heard = transition.iter().filter(|e| seen_of(&*position.state, to, e).text.is_some()).count();
                if heard > 0 && left == 0 {
                    break;
                }
                left = left.saturating_sub(heard);
                last = Some(position.at);
                position.play(transition);
            }
            let view = view_of(&*position.state, to.viewer(), &[MatchView::Picture], Layout::Ludex);
            drawn = view.picture.map(|mut picture| {
                let touched = last.map(|at| self.touched_at(story.events(), at));
                mark_last(&mut picture.svg, &touched.unwrap_or_default());
                picture
            });
        });
        drawn
    }

    /// The cells that the transition touches which begins with event `at`.
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

    /// The views of the position now, for a spectator.
    pub fn spectator_view(&self, to: Watcher, views: &[MatchView]) -> SeatView {
        let others: Vec<MatchView> = views.iter().copied().filter(|view| *view != MatchView::Picture).collect();
        let mut view = view_of(&*self.state, to.viewer(), &others, Layout::Ludex);
        if views.contains(&MatchView::Picture) {
            view.picture = self.picture_after(to, usize::MAX);
        }
        view
    }

    /// The position as `to` sees it, for people.
    pub fn drawing(&self, to: Watcher) -> String {
        self.state.view(to.viewer()).drawing(to.viewer())
    }

    /// Keeps of a match that is over only what is needed to tell it again: a few kilobytes. Its record is gone then.
    pub fn pack(&mut self) {
        if !self.is_over() || self.packed.is_some() {
            return;
        }
        self.packed = self.story.pack();
        if self.packed.is_some() {
            self.story.close(Record::default());
        }
        self.narrator = None;
        self.outcomes = Outcomes::new();
        for place in &mut self.places {
            let tries = std::mem::take(&mut place.tries);
            *place = SeatState { issued: place.issued, tries, ..SeatState::default() };
        }
    }

    fn with_story<T>(&self, read: impl FnOnce(&MatchLog) -> T) -> T {
        match self.packed.as_deref().and_then(MatchLog::unpack) {
            Some(story) => read(&story),
            None => read(&self.story),
        }
    }

    // ---- inputs --------------------------------------------------------------------------------------------------

    /// Takes one input at `now` (milliseconds of the host's monotonic clock) and says what follows.
    pub fn handle(&mut self, now: u64, input: Input) -> Vec<Output> {
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

    /// The host was held up: for `lost[seat]` milliseconds more it could not hear that seat. What ran against the seat
    /// meanwhile, clock or the time that it is held for a lost connection, is given back. The record tells of it.
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

    /// Ends the match if a clock, or the time that a seat is held for a lost connection, ran out before `now`.
    fn expire(&mut self, now: u64) {
        if self.is_over() {
            return;
        }
        let clock = self.clocks.next().filter(|&(at, _)| at <= now);
        match (clock, self.gone().filter(|&(at, _)| at <= now)) {
            (Some((at, seat)), away) if away.is_none_or(|(gone, _)| at <= gone) => match seat {
                Some(seat) => self.blame(EndReason::Timeout, seat),
                None => self.finish(EndReason::Truncated, None),
            },
            (_, Some((_, seat))) => self.blame(EndReason::Disconnect, seat),
            _ => {}
        }
    }

    /// The first seat that will not be held any longer for a lost connection, and when.
    fn gone(&self) -> Option<(u64, Seat)> {
        let grace = self.setup.grace_ms?;
        let away = self.places.iter().enumerate().filter_map(|(seat, p)| Some((p.away_since?, seat))).min();
        away.map(|(since, seat)| (since.saturating_add(grace), seat))
    }

    fn blame(&mut self, reason: EndReason, seat: Seat) {
        // Only a client can stay away from the start: an agent of the host is there.
        let shown = self.places[seat].acted || !self.setup.seats[seat].remote;
        let reason = if shown { reason } else { EndReason::NoShow };
        self.finish(reason, Some(seat));
    }

    fn presence(&mut self, now: u64, seat: Seat, online: bool) {
        let over = self.is_over();
        let Some(place) = self.places.get_mut(seat) else { return };
        if place.online == online && place.away_since.is_some() != online {
            return;
        }
        let first = !place.online && place.away_since.is_none();
        if self.setup.grace_ms.is_none() {
            match (online, place.away_since) {
                (true, Some(since)) => self.clocks.resume(seat, now.saturating_sub(since)),
                (false, None) => self.clocks.pause(seat),
                _ => {}
            }
        }
        place.online = online;
        place.away_since = (!online && !over).then_some(now);
        if online {
            place.waits = false;
        }
        if over || (first && online) {
            return;
        }
        self.story.presence(seat as u32, online);
    }

    fn resign(&mut self, seat: Seat, re: Option<i64>) {
        let over = self.is_over();
        // Said again, because the answer was lost with the connection.
        let end = |story: &MatchLog| story.record().map(|r| (r.footer.reason, r.footer.at_fault));
        let again = over && self.with_story(end) == Some((Some(EndReason::Resign), Some(seat as u32)));
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
            self.finish(EndReason::Resign, Some(seat));
        }
    }

    fn reply(&mut self, seat: Seat, re: i64, message: ServerMessage) {
        self.out.push(Output::Reply { seat, re, message: Box::new(message) });
    }

    /// Puts out a row, where rows are kept.
    fn keep(&mut self, row: impl FnOnce() -> LogRow) {
        if self.keeps {
            self.out.push(Output::Persist(Box::new(row())));
        }
    }

    /// Puts out the frames of what happened since the last time.
    fn narrate(&mut self) {
        let Some(narrator) = &mut self.narrator else { return };
        let out = &mut self.out;
        let mut put = |to, frame| out.push(Output::Frame { to, frame: Box::new(frame) });
        narrator.emit(&self.setup, &self.story, &[], &mut put);
    }
}
