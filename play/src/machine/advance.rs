//! Progress of the game: applies moves, draws chance outcomes and requests moves.

use ludex_env::recording::parsed_move;
use ludex_env::{ParsedMove, Seat, ToMove};
use ludex_protocol::record::{ChanceRecord, EndReason, MoveRecord, Notes, RecordEvent};

use super::MatchMachine;
use super::interface::{AcceptedMove, Output};
use super::replay_cursor::{ReplayCursor, play_move};

impl MatchMachine {
    /// Plays an accepted move, or buffers it until the joint move is complete.
    pub(super) fn apply(&mut self, act: AcceptedMove) {
        let seat = act.seat();
        if self.setup.excerpt.counts(seat) && self.state.legal_list(seat).len() != 1 {
            self.decisions += 1;
        }
        let place = &mut self.places[seat];
        place.open = false;
        place.asked = false;
        if let ToMove::Simultaneous(acting) = self.state.turn() {
            place.pending = Some(act);
            if acting.iter().any(|s| self.places[s].pending.is_none()) {
                return;
            }
            self.play_together();
        } else {
            self.play_one(act);
        }
        self.advance();
    }

    fn play_one(&mut self, act: AcceptedMove) {
        if let Err(e) = play_move(&mut *self.state, &act.record) {
            // `parse_move` returned this document, so a refusal is a bug in the game. The match continues.
            tracing::error!(match_id = self.id(), %e, "game refused its own canonical document");
        }
        self.record_move(act, false);
    }

    fn play_together(&mut self) {
        let acts: Vec<AcceptedMove> = self.places.iter_mut().filter_map(|p| p.pending.take()).collect();
        let mut joint = vec![None; self.places.len()];
        for act in &acts {
            joint[act.seat()] = parsed_move(&act.record);
        }
        self.state.play_joint_unchecked(&joint);
        let last = acts.len().saturating_sub(1);
        for (k, act) in acts.into_iter().enumerate() {
            self.record_move(act, k < last);
        }
    }

    pub(super) fn record_move(&mut self, act: AcceptedMove, more: bool) {
        let place = &mut self.places[act.seat()];
        place.attempts.clear();
        let event = MoveRecord { tries: std::mem::take(&mut place.tries), more, ..act.record };
        self.log.push(RecordEvent::Move(event), act.bank_ms);
    }

    /// Starts the match: plays the excerpt's start position, then advances to the first move request.
    pub(super) fn begin(&mut self) {
        self.log.begun = true;
        let start = self.setup.excerpt.start.clone();
        let mut position = ReplayCursor::new(&*self.setup.game);
        while let Some(transition) = position.next(&start) {
            position.play(transition);
        }
        self.state = position.state;
        for event in start {
            let bank = match &event {
                RecordEvent::Move(m) => {
                    self.places[m.seat as usize].issued += 1;
                    self.clocks.banks()[m.seat as usize]
                }
                RecordEvent::Chance(_) => 0,
            };
            self.log.push(event, bank);
        }
        match self.setup.forfeit {
            Some(seat) => self.resign(seat, None),
            None => self.advance(),
        }
    }

    /// Plays chance and forced moves until a seat must move or the match ends.
    pub(super) fn advance(&mut self) {
        while !self.is_over() {
            match self.state.turn() {
                ToMove::Over => return self.finish(EndReason::Finished, None),
                _ if self.setup.excerpt.is_spent(self.decisions) => return self.finish(EndReason::Truncated, None),
                ToMove::Chance => self.play_chance(),
                ToMove::Seat(seat) => {
                    if self.setup.skips(&*self.state, seat) {
                        self.play_forced(seat);
                        continue;
                    }
                    return self.ask_seat(seat);
                }
                ToMove::Simultaneous(acting) => return acting.iter().for_each(|seat| self.ask_seat(seat)),
            }
        }
    }

    fn play_chance(&mut self) {
        self.state.chance(&mut self.outcomes);
        let Some(a) = self.draw.pick(&self.outcomes) else {
            tracing::error!(match_id = self.id(), "chance node has no outcomes");
            return self.finish(EndReason::InfraError, None);
        };
        self.state.play_unchecked(a);
        let event = RecordEvent::Chance(ChanceRecord { action: Some(a) });
        self.log.push(event, 0);
    }

    fn play_forced(&mut self, seat: Seat) {
        let (turn, action) = (self.places[seat].issued, self.state.legal_list(seat).first().copied());
        self.places[seat].issued += 1;
        let bank_ms = self.clocks.banks()[seat];
        let record = MoveRecord { seat: seat as u32, turn, action, forced: true, ..MoveRecord::default() };
        self.play_one(AcceptedMove { record, attempt: 0, bank_ms });
    }

    /// Plays an earlier answer of a client. Like a forced move, it has no log row, since it follows from the setup.
    fn play_known(&mut self, seat: Seat, mv: ParsedMove, notes: Notes) {
        let turn = self.places[seat].issued.saturating_sub(1);
        let mut record = MoveRecord { seat: seat as u32, turn, notes: Some(notes), ..MoveRecord::default() };
        match mv {
            ParsedMove::Action(action) => record.action = Some(action),
            ParsedMove::Document(document) => record.document = Some(document),
        }
        let bank_ms = self.clocks.banks()[seat];
        self.apply(AcceptedMove { record, attempt: 0, bank_ms });
    }

    /// Requests the next move of a seat. Clients receive the request as a frame from the narrator.
    fn ask_seat(&mut self, seat: Seat) {
        let known = self.setup.seats[seat].known.recall(&*self.state, seat).map(|(mv, notes)| (mv, notes.clone()));
        let place = &mut self.places[seat];
        place.issued += 1;
        if let Some((mv, notes)) = known {
            return self.play_known(seat, mv, notes);
        }
        if self.setup.seats[seat].remote {
            place.open = true;
            return;
        }
        place.asked = true;
        // Emit earlier events before the agent is called.
        self.narrate();
        self.out.push(Output::Ask(seat));
    }
}
