//! The end of a match, and its record.

use ludex_env::{Seat, Turn};
use ludex_protocol::record::{Footer, MoveRecord, Parts, Reason, Record, RecordEvent};
use ludex_referee::digest;

use super::Match;
use super::terms::{Kept, Output};

impl Match {
    /// What was said in a turn that the end cut short: the parts of a joint move that others had made, and what the
    /// seat at fault tried, as a move without an action. All parts of an unfinished joint move have `more`.
    fn record_unfinished(&mut self, at_fault: Option<Seat>) {
        let more = matches!(self.state.turn(), Turn::Together(_));
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
                self.story.push(RecordEvent::Move(unanswered), 0, &self.setup.header.clock);
            }
        }
    }

    /// Ends the match: the record, and `match_end` for everybody.
    pub(super) fn finish(&mut self, reason: Reason, at_fault: Option<Seat>) {
        self.narrate();
        self.clocks.halt();
        self.record_unfinished(at_fault);
        for place in &mut self.places {
            place.open = false;
            place.asked = false;
        }
        match self.recalled.take() {
            Some(record) => self.story.record = *record,
            None => self.complete(reason, at_fault),
        }
        self.story.over = true;
        let record = &self.story.record;
        if self.keeps {
            self.out.push(Output::Keep(Box::new(Kept::End(Box::new(record.clone())))));
        }
        self.narrate();
        self.out.push(Output::Over);
    }

    /// Completes the record of a match that ends here.
    fn complete(&mut self, reason: Reason, at_fault: Option<Seat>) {
        let spec = self.setup.game.spec();
        // 0 added makes -0 plain 0, as which it is read back from a record.
        let mut returns: Vec<f64> = self.state.returns().iter().map(|r| r + 0.0).collect();
        if let Some(seat) = at_fault {
            ludex_env::batch::forfeit(spec, seat, &mut returns);
        }
        let record = &mut self.story.record;
        record.header = self.setup.header.clone();
        record.footer = Footer {
            outcome: ludex_referee::outcome::outcomes(spec, &returns, reason, at_fault),
            returns,
            reason: Some(reason),
            at_fault: at_fault.map(|s| s as u32),
            ended: Some(crate::time::now_text()),
            run: self.setup.run.clone(),
            pair: self.setup.pair.clone(),
            seed: Some(self.setup.seed.to_string()),
            salt: Some(hex::encode(self.setup.salt)),
            digest: None,
        };
        record.footer.digest = digest_of(record);
    }
}

/// The digest of a finished record; `None` only for numbers that JSON cannot carry.
fn digest_of(record: &Record) -> Option<String> {
    let parts = Parts::parse(&record.to_line().ok()?).ok()?;
    digest::digest(&parts).ok()
}
