//! End of a match and completion of its record.

use ludex_env::recording::hex_text;
use ludex_env::{Seat, ToMove};
use ludex_protocol::record::{EndReason, Footer, MoveRecord, RecordEvent};

use super::MatchMachine;
use super::interface::{LogRow, Output};

impl MatchMachine {
    /// Records the acts of a turn that the end of the match interrupted. The acts are the submitted parts of a joint
    /// move, and the refused attempts of the seat at fault, which become a move without an action. In every part of an
    /// unfinished joint move, the flag `more` is set.
    fn record_unfinished(&mut self, at_fault: Option<Seat>) {
        let more = matches!(self.state.turn(), ToMove::Simultaneous(_));
        for seat in 0..self.places.len() {
            if let Some(act) = self.places[seat].pending.take() {
                self.record_move(act, true);
                continue;
            }
            let place = &mut self.places[seat];
            if at_fault == Some(seat) && !place.tries.is_empty() {
                let tries = std::mem::take(&mut place.tries);
                let turn = place.issued.saturating_sub(1);
                let unanswered = MoveRecord { seat: seat as u32, turn, tries, more, ..MoveRecord::default() };
                self.log.push(RecordEvent::Move(unanswered), 0);
            }
        }
    }

    /// Ends the match: completes the record and sends `match_end` to all watchers.
    pub(super) fn finish(&mut self, reason: EndReason, at_fault: Option<Seat>) {
        self.narrate();
        self.clocks.halt();
        self.record_unfinished(at_fault);
        for place in &mut self.places {
            place.open = false;
            place.asked = false;
        }
        match self.recalled.take() {
            Some(record) => self.log.close(record),
            None => self.complete(reason, at_fault),
        }
        if let Some(record) = self.log.record().filter(|_| self.keeps) {
            self.out.push(Output::Persist(Box::new(LogRow::End(Box::new(record.clone())))));
        }
        self.narrate();
        self.out.push(Output::Over);
    }

    /// Completes the record of a match that ends now.
    fn complete(&mut self, reason: EndReason, at_fault: Option<Seat>) {
        let spec = self.setup.game.spec();
        let mut returns = self.state.returns();
        let (mut reason, mut at_fault) = (reason, at_fault.map(|s| s as u32));
        if returns.iter().any(|r| !r.is_finite()) {
            // Records cannot contain non-finite numbers. The fault is in the rules of the game, so no seat is at fault.
            tracing::error!(match_id = self.setup.header.episode, ?returns, "game returned non-finite scores");
            returns.fill(0.0);
            (reason, at_fault) = (EndReason::InfraError, None);
        }
        let footer = Footer {
            reason: Some(reason),
            at_fault,
            ended: Some(self.time.now_text()),
            stall_ms: self.places.iter().map(|place| place.stalled).max().filter(|&ms| ms > 0),
            away_ms: Some(self.time_away(self.now)).filter(|all| all.iter().any(|&ms| ms > 0)).unwrap_or_default(),
            mirror: self.setup.mirror.clone(),
            run: self.setup.run.clone(),
            pair: self.setup.pair.clone(),
            seed: Some(self.setup.seed.to_string()),
            salt: Some(hex_text(&self.setup.salt)),
            ..Footer::default()
        };
        if let Err(error) = self.log.end(spec, self.state.teams().as_deref(), &returns, footer) {
            tracing::error!(match_id = self.setup.header.episode, %error, "record has no canonical form");
        }
    }
}
