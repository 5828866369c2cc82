//! Moves submitted by seats: repeated requests, refusal and acceptance.

use ludex_env::recording::submitted_move;
use ludex_env::{ParsedMove, PriorAttempt, Seat};
use ludex_protocol::Move;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::message::{Act, ServerMessage};
use ludex_protocol::record::{EndReason, IllegalPolicy, MoveRecord, Notes, RefusedMove};

use super::MatchMachine;
use super::act_replies::{accepted, refused_reply};
use super::interface::{AcceptedMove, AgentOutcome, LogRow, Output};
use super::prompts::with_answer;

/// Move submitted by a client or an in-process agent.
pub(super) struct GivenMove {
    seat: Seat,
    chosen: Move,
    notes: Option<Notes>,
    /// Id of the client's request; `None` for in-process agents.
    re: Option<i64>,
    /// True if the move was read from an answer in the notes.
    is_answer: bool,
}

impl MatchMachine {
    /// Handles a client's act by its key (turn, attempt).
    ///
    /// If an act with this key and the same move was handled before, the reply is repeated. If the moves differ, the
    /// act is refused with `conflict`, or with `stale_turn` once the turn is over. An act with an unknown key is
    /// refused with `stale_turn` if its turn is over, otherwise with `not_your_turn`. None of these refusals counts as
    /// a try.
    pub(super) fn act(&mut self, now: u64, seat: Seat, re: i64, act: Act) {
        let place = &self.places[seat];
        let (current, tries) = (place.issued.checked_sub(1), place.tries.len() as u32);
        if place.open && current == Some(act.turn) && act.attempt == tries {
            return match self.given_move(seat, re, act) {
                Ok(given) => self.play(now, given),
                Err(e) => self.reply(seat, re, e.into()),
            };
        }
        let stale = current.is_some_and(|c| act.turn < c);
        let answered = self.answered(seat, &act);
        let e = match (answered, current) {
            (Some(answered), _) if answered.is_same => return self.reply(seat, re, answered.message),
            (Some(_), _) => {
                let code = if stale { ErrorCode::StaleTurn } else { ErrorCode::Conflict };
                let (turn, attempt) = (act.turn, act.attempt);
                let text = format!("expected the move first sent for turn {turn} try {attempt}, got a different move");
                Refusal::new(code, text)
            }
            _ if self.is_over() => Refusal::new(ErrorCode::MatchOver, "the match is over"),
            (_, Some(c)) if stale => Refusal::new(
                ErrorCode::StaleTurn,
                format!("expected turn {c} of this seat, got turn {}, which is over", act.turn),
            ),
            (_, Some(c)) if self.places[seat].open => Refusal::new(
                ErrorCode::NotYourTurn,
                format!("expected turn {c} try {tries} of this seat, got turn {} try {}", act.turn, act.attempt),
            ),
            _ => Refusal::new(ErrorCode::NotYourTurn, "no move of this seat is expected now"),
        };
        self.reply(seat, re, e.into());
    }

    /// Returns the move of an act in the open turn of the seat, which is read from the answer if it has one.
    ///
    /// # Errors
    /// `bad_field` without exactly one move; `internal` if the prompts of the seat cannot be prepared.
    fn given_move(&self, seat: Seat, re: i64, act: Act) -> Result<GivenMove, Refusal> {
        let re = Some(re);
        if let Some(chosen) = act.as_move() {
            return Ok(GivenMove { seat, chosen, notes: act.notes, re, is_answer: false });
        }
        let Some(answer) = act.answer else {
            let e = Refusal::new(ErrorCode::BadField, "expected exactly one of: action, text, document, answer");
            return Err(e.path("action"));
        };
        let chosen = self.open_prompt(seat, act.turn).read(&answer)?;
        Ok(GivenMove { seat, chosen, notes: Some(with_answer(act.notes, answer)), re, is_answer: true })
    }

    /// Applies the outcome of an in-process agent's turn. If the turn is no longer open, the outcome is dropped.
    pub(super) fn agent(&mut self, now: u64, seat: Seat, turn: u32, did: AgentOutcome) {
        let expected = self.places.get(seat).is_some_and(|p| p.asked && p.issued.checked_sub(1) == Some(turn));
        if self.is_over() || !expected {
            return;
        }
        match did {
            AgentOutcome::Move { chosen, notes } => {
                self.play(now, GivenMove { seat, chosen, notes: notes.map(|n| *n), re: None, is_answer: false });
            }
            AgentOutcome::Resign => self.resign(seat, None),
            AgentOutcome::Failed { reason, message } => {
                tracing::warn!(match_id = self.id(), seat, %message, "in-process agent failed");
                self.finish(reason, reason.counts().then_some(seat));
            }
        }
    }

    /// Plays a submitted move in the open turn of the seat.
    fn play(&mut self, now: u64, mut given: GivenMove) {
        given.notes = given.notes.filter(|n| !n.is_empty());
        let seat = given.seat;
        self.places[seat].reached = true;
        match self.state.parse_move(seat, &given.chosen) {
            Ok(parsed) => {
                let act = self.accept(now, seat, parsed, given.notes, false);
                self.keep(|| LogRow::Act(act.clone()));
                if let Some(re) = given.re {
                    let message = accepted(&self.setup, &*self.state, &act.record, act.bank_ms);
                    self.reply(seat, re, message);
                }
                self.apply(act);
            }
            Err(why) => self.refuse(now, given, why),
        }
    }

    /// Stops the clock and returns the accepted move.
    fn accept(&mut self, now: u64, seat: Seat, parsed: ParsedMove, notes: Option<Notes>, forced: bool) -> AcceptedMove {
        let ms = self.clocks.stop(seat, now);
        let place = &self.places[seat];
        let (turn, attempt) = (place.issued.saturating_sub(1), place.tries.len() as u32);
        let mut record = MoveRecord { seat: seat as u32, turn, ms, notes, forced, ..MoveRecord::default() };
        match parsed {
            ParsedMove::Action(a) => record.action = Some(a),
            ParsedMove::Document(document) => record.document = Some(document),
        }
        AcceptedMove { record, attempt, bank_ms: self.clocks.banks()[seat] }
    }

    /// Counts a refused attempt and replies to it. Once no tries are left, applies the policy for illegal moves.
    fn refuse(&mut self, now: u64, given: GivenMove, why: Refusal) {
        let GivenMove { seat, chosen, notes, re, is_answer } = given;
        if re.is_none() {
            tracing::warn!(match_id = self.id(), seat, %why, "in-process agent made an illegal move");
        }
        let (action, text, document) = match chosen {
            Move::Id(id) => (Some(id), None, None),
            Move::Text(text) => (None, Some(text), None),
            Move::Document(document) => (None, None, Some(document)),
        };
        let (ms, issues) = (self.clocks.used(seat, now), why.issues.clone());
        let tried = RefusedMove { action, text, document, code: why.code, issues, ms, notes };
        let place = &self.places[seat];
        let turn = place.issued.saturating_sub(1);
        let mut answer = Box::new(refused_reply(&self.setup, &*self.state, seat, (turn, &place.tries), why));
        let policy = answer.applied_policy;
        self.count_try(seat, tried.clone(), &answer.message);
        if is_answer {
            answer.answer = self.open_prompt(seat, turn).refused_answer().ok();
        }
        self.keep(|| LogRow::Refused { seat, tried, answer: answer.clone() });
        if let Some(re) = re {
            self.reply(seat, re, ServerMessage::Refused(answer));
        }
        let Some(policy) = policy else {
            if self.places[seat].asked {
                self.out.push(Output::Ask(seat));
            }
            return;
        };
        let forced = match policy {
            IllegalPolicy::Forfeit => return self.finish(EndReason::Illegal, Some(seat)),
            IllegalPolicy::Default => self.state.default_move(seat, &mut self.draw.policy(seat, turn)),
            IllegalPolicy::Random => {
                ParsedMove::Action(self.state.random_action(seat, &mut self.draw.policy(seat, turn)))
            }
        };
        let act = self.accept(now, seat, forced, None, true);
        self.keep(|| LogRow::Act(act.clone()));
        self.apply(act);
    }

    /// Adds a refused attempt to the open turn.
    pub(super) fn count_try(&mut self, seat: Seat, tried: RefusedMove, why: &str) {
        let place = &mut self.places[seat];
        if !self.setup.seats[seat].remote {
            let (why, issues) = (why.to_owned(), tried.issues.clone());
            place.attempts.push(PriorAttempt { given: submitted_move(&tried), why, issues });
        }
        place.tries.push(tried);
    }
}
