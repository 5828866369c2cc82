//! The course of the game: moves, chance, whom to ask.

use ludex_env::batch::Layout;
use ludex_env::erased::legal_list;
use ludex_env::{DynGame, DynState, Mover, Seat, Seen, Turn, Viewer};
use ludex_protocol::message::{EventKind, MatchFrame, MatchView, Turn as TurnFrame};
use ludex_protocol::record::{ChanceRecord, MoveRecord, Reason, RecordEvent};
use ludex_protocol::spec::{Information, RewardModel};

use super::Match;
use crate::machine::frames::Watcher;
use crate::machine::terms::{KeptAct, Output};
use ludex_env::present::{legal_of, view_of};

impl Match {
    /// Plays an accepted move, or keeps it until the joint move is complete.
    pub(super) fn apply(&mut self, seat: Seat, act: KeptAct) {
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

    pub(super) fn record_move(&mut self, act: &KeptAct, more: bool) {
        let tries = std::mem::take(&mut self.places[act.seat].tries);
        self.places[act.seat].attempts.clear();
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

    /// The events of one move, each viewer its own.
    fn tell_move(&mut self, before: &dyn DynState, act: &KeptAct) {
        let seat = act.seat;
        for to in self.logs.watchers() {
            let seen = match (to, act.action, &act.said) {
                // Full spectators see what the mover knows of its own move.
                (Watcher::Full, Some(a), _) => {
                    Seen { action: Some(a), text: Some(before.view(Viewer::Seat(seat)).action_text(seat, a)) }
                }
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
    pub(super) fn settle(&mut self) {
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
                Watcher::Full => Seen { action: Some(a), text: Some(before.outcome_text(a)) },
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
            && legal_list(&*self.state, seat).len() == 1
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
        let legal = legal_list(&*self.state, seat);
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
}

/// The position after `events`, played without checks: for records of this very machine.
pub(super) fn replay(game: &dyn DynGame, events: &[RecordEvent]) -> Box<dyn DynState> {
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
