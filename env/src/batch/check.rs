//! Validation of a step's actions before any environment changes.

use ludex_protocol::{ErrorCode, Refusal};
use serde_json::Value;

use super::episode::{Envs, MAX_CACHED_MASK, Rows, Status};
use super::{Autoreset, DynBatch, OnIllegal};
use crate::game::{Action, CompleteGame, Outcomes, Seat, SeatSet, ToMove, Viewer};
use crate::typed::{box_state, out_of_range};

/// Maximum number of legal moves that an error message names.
const NAMED: usize = 8;

impl<G: CompleteGame> Envs<G> {
    pub(super) fn over(&self, i: usize, at: usize) -> Refusal {
        let message = match self.hot[i].status {
            Status::New => "expected a running episode; reset the environment first",
            _ => "the episode has ended; reset the environment first",
        };
        Refusal::new(ErrorCode::EnvOver, self.of_env(i, message)).path("actions").index(at).got(i as u64)
    }

    fn is_legal(&self, i: usize, seat: Seat, a: i32) -> bool {
        (0..self.actions as i64).contains(&a.into()) && self.of.game.is_legal(&self.hot[i].state, seat, a as u32)
    }

    /// Returns true if `row` contains a single action that the cached mask of environment `i` allows. Returns false if
    /// no mask is cached.
    #[inline]
    fn shown_legal(&self, i: usize, row: &[i32]) -> bool {
        let &[a] = row else { return false };
        let a = a as u32 as usize;
        a < self.actions && self.masks.get(i * self.actions + a) == Some(&1)
    }

    /// Checks the ids of all rows. Under `OnIllegal::Lose`, returns the positions and seats of offenders instead of an
    /// error.
    pub(super) fn check_all(&self, rows: Rows<'_>, actions: &[i32]) -> Result<Vec<(usize, Seat)>, Refusal> {
        let mut offenders = Vec::new();
        for (pos, (i, row)) in rows.iter().zip(actions.chunks_exact(self.width())).enumerate() {
            if !self.shown_legal(i, row)
                && let Some(seat) = self.check(i, pos, row)?
            {
                offenders.push((pos, seat));
            }
        }
        Ok(offenders)
    }

    pub(super) fn illegal(&self, i: usize, seat: Option<Seat>, a: i32, at: usize) -> Refusal {
        let state = box_state(&self.of, self.hot[i].state.clone());
        let (why, allowed): (String, Value) = match seat {
            None => {
                let mut outcomes = Outcomes::new();
                state.chance(&mut outcomes);
                let ids: Vec<Action> = outcomes.items().iter().map(|o| o.0).collect();
                (format!("expected an outcome of the chance node, got {a}"), ids.into())
            }
            Some(_) if a < 0 || a as usize >= self.actions => (out_of_range(&self.of.spec, a), self.allowed(i, seat)),
            Some(p) => {
                let (given, why) =
                    (self.action_text(i, p, a as u32), self.of.game.why_not(&self.hot[i].state, p, a as u32));
                (self.refused_text(i, p, &given, &why), self.allowed(i, seat))
            }
        };
        let e = Refusal::new(ErrorCode::IllegalAction, self.of_env(i, &why)).path("actions");
        e.index(at).got(a).allowed(allowed)
    }

    fn action_text(&self, i: usize, seat: Seat, a: Action) -> String {
        let game = &self.of.game;
        game.action_text(&game.view(&self.hot[i].state, Viewer::Seat(seat)), seat, a)
    }

    /// Returns an error message for a refused move: the move, the reason `why`, and the first legal moves.
    pub(super) fn refused_text(&self, i: usize, seat: Seat, given: &str, why: &str) -> String {
        let mut legal = Vec::new();
        self.of.game.legal(&self.hot[i].state, seat, &mut legal);
        let names: Vec<String> = legal.iter().take(NAMED).map(|&a| self.action_text(i, seat, a)).collect();
        let more = if legal.len() > NAMED { format!(" and {} more", legal.len() - NAMED) } else { String::new() };
        let given = if why.contains(given) { String::new() } else { format!("{given}: ") };
        format!("{given}{why}; legal: {}{more}", names.join(", "))
    }

    /// Returns an error message with the index of the environment, if there are several.
    pub(super) fn of_env(&self, i: usize, message: &str) -> String {
        if self.hot.len() == 1 { message.to_owned() } else { format!("environment {i}: {message}") }
    }

    pub(super) fn allowed(&self, i: usize, seat: Option<Seat>) -> Value {
        let mut legal = Vec::new();
        if let Some(seat) = seat {
            self.of.game.legal(&self.hot[i].state, seat, &mut legal);
        }
        // A list of thousands of ids would not be useful in an error.
        legal.truncate(MAX_CACHED_MASK as usize);
        legal.into()
    }

    /// Checks the ids of one row. Under `OnIllegal::Lose`, returns the offending seat instead of an error.
    pub(super) fn check(&self, i: usize, at: usize, row: &[i32]) -> Result<Option<Seat>, Refusal> {
        let h = &self.hot[i];
        if row.iter().all(|&a| a == -1) {
            return if h.status == Status::New { Err(self.over(i, at)) } else { Ok(None) };
        }
        match h.status {
            Status::New => return Err(self.over(i, at)),
            Status::Terminated | Status::Truncated => {
                return if self.config.autoreset == Autoreset::NextStep { Ok(None) } else { Err(self.over(i, at)) };
            }
            Status::Live => {}
        }
        let lose = self.config.on_illegal == OnIllegal::Lose;
        let column = |seat: Seat| if row.len() == 1 { 0 } else { seat };
        let mut used = SeatSet(0);
        match self.turn(i) {
            ToMove::Seat(seat) => {
                used = SeatSet(1 << column(seat));
                let a = row[column(seat)];
                if !self.is_legal(i, seat, a) {
                    return if lose && a != -1 { Ok(Some(seat)) } else { Err(self.illegal(i, Some(seat), a, at)) };
                }
            }
            ToMove::Chance => {
                used = SeatSet(1);
                let mut outcomes = Outcomes::new();
                self.of.game.chance(&h.state, &mut outcomes);
                if !outcomes.items().iter().any(|o| i64::from(o.0) == i64::from(row[0])) {
                    return Err(self.illegal(i, None, row[0], at));
                }
            }
            ToMove::Simultaneous(set) => {
                for seat in set.iter().filter(|&s| self.player(i, s).is_none()) {
                    used.0 |= 1 << column(seat);
                    let a = row[column(seat)];
                    if !self.is_legal(i, seat, a) {
                        return if lose && a != -1 { Ok(Some(seat)) } else { Err(self.illegal(i, Some(seat), a, at)) };
                    }
                }
            }
            ToMove::Over => {}
        }
        for (c, &a) in row.iter().enumerate() {
            if a != -1 && !used.has(c) {
                let message = self.of_env(i, &format!("expected -1 for seat {c}, which does not act"));
                let e = Refusal::new(ErrorCode::IllegalAction, message).path("actions");
                return Err(e.index(at).got(a).allowed(-1));
            }
        }
        Ok(None)
    }
}
