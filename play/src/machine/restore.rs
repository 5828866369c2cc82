//! A match brought back from its rows.

use ludex_env::{Heard, Seat};
use ludex_protocol::Move;
use ludex_protocol::message::ServerMessage;
use ludex_protocol::record::{Reason, Record, Try};

use super::Match;
use super::acts::{Answer, attempt_of};
use crate::machine::terms::{Kept, Output, Setup};

impl Match {
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
                    Heard::Said(v) => Move::Document(v.clone()),
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
                place.attempts.push(attempt_of(&tried, &answer.message));
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
}

fn given_of_try(t: &Try) -> Move {
    match (t.action, &t.text, &t.proposal) {
        (Some(id), ..) => Move::Id(id),
        (_, Some(text), _) => Move::Text(text.clone()),
        (_, _, Some(p)) => Move::Document(p.clone()),
        // No client can send this one, so nothing counts as a repetition of it.
        _ => Move::Document(serde_json::Value::Null),
    }
}
