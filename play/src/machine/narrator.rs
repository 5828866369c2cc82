//! Builds the frames of a match for each watcher. Each watcher's frames are numbered without gaps.
//!
//! Frames are a function of the setup and the [`MatchLog`], so they are not stored. A narrator created with the match
//! builds each frame as events happen. For a watcher that is added later, a new narrator rebuilds all earlier frames.

use std::collections::HashSet;

use ludex_env::batch::Layout;
use ludex_env::message_views::{legal_of, view_of};
use ludex_env::picture::mark_last;
use ludex_env::{DynState, EventView, Mover, Seat, ToMove, Viewer};
use ludex_protocol::message::MatchView;
use ludex_protocol::message::{EventKind, MatchEnd, MatchEvent, MatchFrame, MatchStart, SeatInfo, SeatView, TurnFrame};
use ludex_protocol::record::{EndReason, Footer, MoveRecord, RecordEvent};
use ludex_protocol::spec::RewardModel;

use super::RESTART_STEP;
use super::clock::budget;
use super::interface::{MatchSetup, SeatSetup};
use super::match_log::MatchLog;
use super::replay_cursor::ReplayCursor;
use super::watcher::Watcher;

/// Callback that receives the frames in order.
pub(super) type FrameSink<'a> = dyn FnMut(Watcher, MatchFrame) + 'a;

/// Watcher with its frame counter.
struct Subscriber {
    to: Watcher,
    /// Number of the next frame.
    next: u64,
    /// Texts revealed so far. A text that a game repeats is not sent again.
    revealed: HashSet<String>,
}

/// Builder of the frames for a set of watchers; see the [module](self).
pub(super) struct Narrator {
    position: ReplayCursor,
    phase: Option<&'static str>,
    returns: Vec<f64>,
    banks: Vec<u64>,
    /// Number of turns issued to each seat so far.
    issued: Vec<u32>,
    /// Number of presence changes emitted so far.
    present: usize,
    begun: bool,
    ended: bool,
    /// True if events carry a picture, for seats that requested the picture view.
    draws: bool,
    /// Cells touched by the last transition; empty if no seat requested the picture view.
    touched: Vec<String>,
    /// Subscribed watchers, sorted by [`Watcher`].
    subscribers: Vec<Subscriber>,
}

impl Narrator {
    /// Creates a narrator for `watchers`, before the first frame.
    pub(super) fn new(setup: &MatchSetup, watchers: impl IntoIterator<Item = Watcher>) -> Self {
        let position = ReplayCursor::new(&*setup.game);
        let seats = setup.seats.len();
        let first = u64::from(setup.restarts) * RESTART_STEP;
        let subscriber = |to| Subscriber { to, next: first, revealed: HashSet::new() };
        Narrator {
            phase: position.state.phase(),
            returns: vec![0.0; seats],
            banks: vec![setup.header.clock.bank_ms; seats],
            issued: vec![0; seats],
            present: 0,
            begun: false,
            ended: false,
            draws: false,
            touched: Vec::new(),
            subscribers: watchers.into_iter().map(subscriber).collect(),
            position,
        }
    }

    /// Enables pictures in events, for watchers of a running match.
    pub(super) fn drawing(mut self) -> Self {
        self.draws = true;
        self
    }

    /// Returns true if `to` is subscribed.
    pub(super) fn has_subscriber(&self, to: Watcher) -> bool {
        self.subscribers.iter().any(|subscriber| subscriber.to == to)
    }

    /// Moves the watchers of `other` to this narrator. Both narrators must have emitted the same events.
    pub(super) fn join(&mut self, other: Narrator) {
        self.subscribers.extend(other.subscribers);
        self.subscribers.sort_by_key(|subscriber| subscriber.to);
    }

    /// Emits the frames of the events since the last call. Event frames carry the requested views.
    pub(super) fn emit(&mut self, setup: &MatchSetup, log: &MatchLog, views: &[MatchView], sink: &mut FrameSink) {
        if log.begun && !self.begun {
            self.begun = true;
            self.send_start(setup, sink);
            if setup.forfeit.is_none() {
                self.send_turns(setup, sink);
            }
        }
        while self.begun {
            self.send_presence(setup, log, views, sink);
            let Some(transition) = self.position.next(log.events()) else { break };
            self.send_transition(setup, log, transition, views, sink);
        }
        if let Some(record) = log.record().filter(|_| !self.ended) {
            self.ended = true;
            let end = end_of(setup, &record.footer);
            for k in 0..self.subscribers.len() {
                let end = MatchEnd { seat: self.subscribers[k].to.seat(), ..end.clone() };
                self.send(k, MatchFrame::MatchEnd(Box::new(end)), sink);
            }
        }
    }

    fn send(&mut self, subscriber: usize, mut frame: MatchFrame, sink: &mut FrameSink) {
        let subscriber = &mut self.subscribers[subscriber];
        frame.set_seq(subscriber.next);
        subscriber.next += 1;
        sink(subscriber.to, frame);
    }

    /// Sends an event frame with views of the current position.
    fn event(
        &mut self,
        subscriber: usize,
        kind: EventKind,
        setup: &MatchSetup,
        views: &[MatchView],
        sink: &mut FrameSink,
    ) {
        let to = self.subscribers[subscriber].to;
        let viewer = to.viewer();
        let drawn =
            self.draws && matches!(viewer, Viewer::Seat(s) if setup.seats[s].views.contains(&MatchView::Picture));
        let views = if drawn { &[MatchView::Picture] } else { views };
        let view = (!views.is_empty()).then(|| self.view(viewer, views, Layout::Ludex));
        let event = MatchEvent { seq: 0, match_id: setup.header.episode.clone(), viewer: to.seat(), kind, view };
        self.send(subscriber, MatchFrame::Event(Box::new(event)), sink);
    }

    /// Returns views of the current position. In a picture, the cells touched by the last transition are marked.
    fn view(&self, viewer: Viewer, views: &[MatchView], layout: Layout) -> SeatView {
        let mut view = view_of(&*self.position.state, viewer, views, layout);
        if let Some(picture) = &mut view.picture {
            mark_last(&mut picture.svg, &self.touched);
        }
        view
    }

    fn send_start(&mut self, setup: &MatchSetup, sink: &mut FrameSink) {
        let h = &setup.header;
        let seats = h.seats.iter().map(|s| SeatInfo { name: s.name.clone(), version: s.version.clone(), kind: s.kind });
        let seats: Vec<SeatInfo> = seats.collect();
        for k in 0..self.subscribers.len() {
            let seat = self.subscribers[k].to.seat();
            let join = seat.and_then(|seat| setup.seats[seat as usize].join.clone());
            let start = MatchStart {
                seq: 0,
                match_id: h.episode.clone(),
                join,
                game: h.game.clone(),
                params: h.params.clone(),
                rules: h.rules,
                hash: h.hash.clone(),
                seat,
                kept_phases: seat.map_or_else(Vec::new, |seat| setup.seats[seat as usize].known.phases.clone()),
                variant: seat.and_then(|seat| setup.seats[seat as usize].variant.clone()),
                seats: seats.clone(),
                rated: h.rated,
                clock: h.clock.clone(),
                grace_ms: setup.grace_ms,
                illegal: h.illegal,
                skip_forced: setup.skip_forced,
                seed_commit: h.seed_commit.clone(),
            };
            self.send(k, MatchFrame::MatchStart(Box::new(start)), sink);
        }
    }

    fn send_presence(&mut self, setup: &MatchSetup, log: &MatchLog, views: &[MatchView], sink: &mut FrameSink) {
        while let Some(p) = log.presence.get(self.present).filter(|p| p.at <= self.position.at) {
            self.present += 1;
            let grace_ms = setup.grace_ms.filter(|_| !p.online);
            let event = EventKind::Presence { seat: p.seat, online: p.online, grace_ms };
            for k in 0..self.subscribers.len() {
                if self.subscribers[k].to != Watcher::Seat(p.seat as usize) {
                    self.event(k, event.clone(), setup, views, sink);
                }
            }
        }
    }

    /// Sends each watcher's view of one transition, followed by changes (rewards, reveals, phase) and move requests.
    fn send_transition(
        &mut self,
        setup: &MatchSetup,
        log: &MatchLog,
        transition: &[RecordEvent],
        views: &[MatchView],
        sink: &mut FrameSink,
    ) {
        let before = &*self.position.state;
        let mut sent: Vec<(usize, EventKind)> = Vec::new();
        for event in transition {
            for (k, subscriber) in self.subscribers.iter().enumerate() {
                sent.extend(event_for(before, subscriber.to, event).map(|kind| (k, kind)));
                if let RecordEvent::Move(m) = event
                    && let Some(say) = m.notes.as_ref().and_then(|n| n.say.clone())
                {
                    sent.push((k, EventKind::Say { seat: m.seat, text: say }));
                }
            }
        }
        for (n, event) in (self.position.at..).zip(transition) {
            if let RecordEvent::Move(m) = event {
                self.banks[m.seat as usize] = log.bank(n);
            }
        }
        if setup.seats.iter().any(|seat| seat.views.contains(&MatchView::Picture)) {
            self.touched = self.position.touched(transition);
        }
        self.position.play(transition);
        sent.into_iter().for_each(|(k, kind)| self.event(k, kind, setup, views, sink));
        self.send_changes(setup, views, sink);
        self.send_turns(setup, sink);
    }

    /// Sends rewards, reveals and the phase after a transition.
    fn send_changes(&mut self, setup: &MatchSetup, views: &[MatchView], sink: &mut FrameSink) {
        let now = self.position.state.returns();
        let rewards: Vec<f64> = now.iter().zip(&self.returns).map(|(n, b)| n - b).collect();
        let paid = setup.game.spec().rewards == RewardModel::Step && rewards.iter().any(|&r| r != 0.0);
        self.returns = now;
        let phase = self.position.state.phase();
        let entered = phase.filter(|p| Some(*p) != self.phase);
        self.phase = phase;
        for k in 0..self.subscribers.len() {
            for (text, data) in self.position.state.reveals(self.subscribers[k].to.viewer()) {
                if self.subscribers[k].revealed.insert(text.clone()) {
                    self.event(k, EventKind::Reveal { text, data }, setup, views, sink);
                }
            }
            if paid {
                self.event(k, EventKind::Reward { rewards: rewards.clone() }, setup, views, sink);
            }
            if let Some(phase) = entered {
                self.event(k, EventKind::Phase { phase: phase.to_owned() }, setup, views, sink);
            }
        }
    }

    /// Sends the move requests of the current position.
    fn send_turns(&mut self, setup: &MatchSetup, sink: &mut FrameSink) {
        let state = &*self.position.state;
        // Moves of the start position are not requested.
        let given = self.position.at < setup.header.start as usize;
        match state.turn() {
            ToMove::Seat(seat) => {
                let turn = self.issue(seat);
                if !given && !setup.skips(&*self.position.state, seat) && !setup.has_answer(&*self.position.state, seat)
                {
                    self.send_turn(setup, seat, turn, sink);
                }
            }
            ToMove::Simultaneous(acting) => {
                for seat in acting.iter() {
                    let turn = self.issue(seat);
                    if !given && !setup.has_answer(&*self.position.state, seat) {
                        self.send_turn(setup, seat, turn, sink);
                    }
                }
            }
            ToMove::Chance | ToMove::Over => {}
        }
    }

    fn issue(&mut self, seat: Seat) -> u32 {
        self.issued[seat] += 1;
        self.issued[seat] - 1
    }

    fn send_turn(&mut self, setup: &MatchSetup, seat: Seat, turn: u32, sink: &mut FrameSink) {
        let SeatSetup { remote: true, views, openspiel, .. } = &setup.seats[seat] else { return };
        let Some(subscriber) = self.subscribers.iter().position(|subscriber| subscriber.to == Watcher::Seat(seat))
        else {
            return;
        };
        let (state, viewer) = (&*self.position.state, Viewer::Seat(seat));
        let names = views.contains(&MatchView::Texts).then(|| {
            let view = state.view(viewer);
            state.legal_list(seat).into_iter().map(|a| view.action_text(seat, a)).collect()
        });
        let layout = if *openspiel { Layout::OpenSpiel } else { Layout::Ludex };
        let frame = TurnFrame {
            seq: 0,
            match_id: setup.header.episode.clone(),
            seat: seat as u32,
            turn,
            attempt: 0,
            budget_ms: budget(&setup.header.clock, self.banks[seat], turn == 0),
            bank_ms: self.banks.clone(),
            legal: legal_of(state, seat),
            names,
            view: self.view(viewer, views, layout),
            phase: state.phase().map(str::to_owned),
            schema: state.schema(seat).map(str::to_owned),
        };
        self.send(subscriber, MatchFrame::Turn(Box::new(frame)), sink);
    }
}

/// Returns the event that `to` receives for a move or a chance outcome; `before` is the position before `event`.
fn event_for(before: &dyn DynState, to: Watcher, event: &RecordEvent) -> Option<EventKind> {
    let EventView { action, text } = seen_of(before, to, event);
    let text = text?;
    Some(match event {
        RecordEvent::Chance(_) => EventKind::Chance { action, text },
        RecordEvent::Move(m) => EventKind::Move { seat: m.seat, action, text, ms: m.ms, forced: m.forced },
    })
}

/// Returns the part of a move or a chance outcome that `to` may see.
pub(super) fn seen_of(before: &dyn DynState, to: Watcher, event: &RecordEvent) -> EventView {
    match event {
        RecordEvent::Move(m) => move_seen_of(before, to, m),
        RecordEvent::Chance(c) => {
            let a = c.action.unwrap_or(0);
            match to {
                Watcher::Full => EventView { action: Some(a), text: Some(before.outcome_text(a)) },
                _ => before.seen(to.viewer(), Mover::Chance, a),
            }
        }
    }
}

/// Returns the part of a move that `to` may see. Full spectators see the same as the seat that moved.
pub(super) fn move_seen_of(before: &dyn DynState, to: Watcher, m: &MoveRecord) -> EventView {
    let seat = m.seat as usize;
    let viewer = if to == Watcher::Full { Viewer::Seat(seat) } else { to.viewer() };
    match (m.action, &m.document) {
        (Some(a), _) if to == Watcher::Full => {
            EventView { action: Some(a), text: Some(before.view(viewer).action_text(seat, a)) }
        }
        (Some(a), _) => before.seen(viewer, Mover::Seat(seat), a),
        (None, Some(document)) => before.observe_document(viewer, seat, document),
        (None, None) => EventView { action: None, text: None },
    }
}

/// Returns the `match_end` message of a match that has ended.
fn end_of(setup: &MatchSetup, footer: &Footer) -> MatchEnd {
    let reason = footer.reason.unwrap_or(EndReason::Aborted);
    let released = |text: &Option<String>| text.clone().filter(|_| setup.release);
    MatchEnd {
        seq: 0,
        match_id: setup.header.episode.clone(),
        seat: None,
        returns: footer.returns.clone(),
        outcome: footer.outcome.clone(),
        reason,
        at_fault: footer.at_fault,
        rated: setup.header.rated && reason.counts(),
        digest: released(&footer.digest),
        seed: released(&footer.seed),
        salt: released(&footer.salt),
        record: format!("/episodes/{}", setup.header.episode),
    }
}
