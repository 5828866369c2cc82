//! Restoration of a match from its persisted rows.

use ludex_env::Seat;
use ludex_protocol::record::{EndReason, Record, RefusedMove};

use super::interface::{LogRow, MatchSetup, Output};
use super::match_log::{MatchLog, UnrecordedLog};
use super::replay_cursor::ReplayCursor;
use super::{MatchMachine, SeatState};

/// State of an ended match that its record does not contain.
pub struct EndedState {
    log: UnrecordedLog,
    /// Number of issued turns of each seat, and the refused attempts of its interrupted turn.
    seats: Box<[(u32, Vec<RefusedMove>)]>,
    restarts: u32,
}

impl EndedState {
    /// Returns the number of restarts after a crash, for [`MatchSetup::restarts`].
    pub fn restarts(&self) -> u32 {
        self.restarts
    }
}

impl MatchMachine {
    /// Restores a running match from its rows and returns the pending requests to in-process agents.
    ///
    /// Recorded moves are not requested again, chance is redrawn from the seed, and clocks resume at their last durable
    /// values. No client is connected; each client gets a `resync` when it reconnects.
    ///
    /// # Errors
    /// Returns an error with the number of the first row that cannot be applied because the store or the rules changed.
    pub fn restore(setup: MatchSetup, rows: Vec<LogRow>, now: u64) -> Result<(Self, Vec<Output>), String> {
        let mut m = MatchMachine::new(setup, now);
        m.again(rows, now)?;
        // The frames from before the crash are not sent again.
        m.narrate();
        m.out.clear();
        let asks = m.open_requests().collect();
        Ok((m, asks))
    }

    /// Returns the pending requests to in-process agents.
    pub fn open_requests(&self) -> impl Iterator<Item = Output> {
        (0..self.places.len()).filter(|&seat| self.places[seat].asked).map(Output::Ask)
    }

    /// Restores an ended match from its rows and record, for clients that did not receive the end.
    ///
    /// # Errors
    /// Same as [`MatchMachine::restore`].
    pub fn recall(setup: MatchSetup, rows: Vec<LogRow>, record: Record, now: u64) -> Result<Self, String> {
        let mut m = MatchMachine::new(setup, now);
        let (reason, at_fault) = (record.footer.reason, record.footer.at_fault);
        m.recalled = Some(Box::new(record));
        m.again(rows, now)?;
        if !m.is_over() {
            m.finish(reason.unwrap_or(EndReason::Aborted), at_fault.map(|seat| seat as Seat));
        }
        m.out.clear();
        Ok(m)
    }

    /// Reduces an ended match to what its record does not contain.
    pub fn into_ended(self) -> EndedState {
        let seats = self.places.into_iter().map(|place| (place.issued, place.tries)).collect();
        EndedState { log: self.log.into_unrecorded(), seats, restarts: self.setup.restarts }
    }

    /// Rebuilds an ended match from its record and [`EndedState`]. Frames and replies are the same as before.
    pub fn from_ended(setup: MatchSetup, record: Record, state: EndedState, now: u64) -> Self {
        let mut m = MatchMachine::new(setup, now);
        let mut position = ReplayCursor::new(&*m.setup.game);
        while let Some(transition) = position.next(&record.events) {
            position.play(transition);
        }
        m.state = position.state;
        m.log = MatchLog::ended(record, state.log);
        m.narrator = None;
        for (place, (issued, tries)) in m.places.iter_mut().zip(state.seats) {
            *place = SeatState { issued, tries, ..SeatState::default() };
        }
        m
    }

    /// Applies the rows of the log in order.
    fn again(&mut self, rows: Vec<LogRow>, now: u64) -> Result<(), String> {
        for (place, seat) in self.places.iter_mut().zip(&self.setup.seats) {
            place.waits = seat.remote;
            place.away_since = seat.remote.then_some(now);
        }
        self.begin();
        for (n, row) in rows.into_iter().enumerate() {
            self.reapply(row, now).map_err(|why| format!("row {n}: {why}"))?;
        }
        Ok(())
    }

    fn reapply(&mut self, row: LogRow, now: u64) -> Result<(), String> {
        match row {
            LogRow::Act(act) => {
                let (seat, m) = (act.seat(), &act.record);
                if self.places.get(seat).is_none_or(|p| p.issued == 0 || p.issued - 1 != m.turn) {
                    return Err(format!("turn of seat {seat}: expected the open turn, got {}", m.turn));
                }
                if !m.action.map_or(m.document.is_some(), |a| m.document.is_none() && self.state.is_legal(seat, a)) {
                    return Err("expected a legal move".into());
                }
                self.clocks.stop(seat, now);
                self.clocks.set_bank(seat, act.bank_ms);
                self.places[seat].reached = true;
                self.apply(act);
                Ok(())
            }
            LogRow::Refused { seat, tried, answer } => {
                let Some(place) = self.places.get_mut(seat) else {
                    return Err(format!("seat: expected a number below {}, got {seat}", self.setup.seats.len()));
                };
                place.reached = true;
                self.count_try(seat, tried, &answer.message);
                Ok(())
            }
            LogRow::Suspended { away_ms, at_ms } => {
                let pause = u64::try_from(crate::time::epoch_ms().saturating_sub(at_ms)).unwrap_or(0);
                for ((place, seat), away_ms) in self.places.iter_mut().zip(&self.setup.seats).zip(away_ms) {
                    // Only matches whose clients are away are suspended.
                    place.away_ms = away_ms + if seat.remote { pause } else { 0 };
                    place.reached = true;
                }
                Ok(())
            }
            LogRow::End(_) => Err("expected the row of a move, got the end of the match".into()),
        }
    }
}
