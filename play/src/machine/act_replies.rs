//! Replies to earlier acts, rebuilt from the match log when a client repeats a request.

use ludex_env::message_views::legal_of;
use ludex_env::recording::{parsed_move, submitted_move};
use ludex_env::{DynState, Seat};
use ludex_protocol::error::Refusal;
use ludex_protocol::message::{Accepted, Act, ActRefused, ServerMessage};
use ludex_protocol::record::{MoveRecord, RecordEvent, RefusedMove};

use super::interface::MatchSetup;
use super::narrator::move_seen_of;
use super::prompts::{PromptedTurn, answer_of};
use super::replay_cursor::ReplayCursor;
use super::{MatchMachine, SeatState, Watcher};

/// Reply to an earlier act, for a client that repeats an act with the same turn and attempt.
pub(super) struct EarlierReply {
    /// True if the repeated act has the same move. Answers and refused moves must be literally equal; accepted moves may
    /// differ in notation.
    pub(super) is_same: bool,
    pub(super) message: ServerMessage,
}

impl MatchMachine {
    /// Returns the reply that `seat` received for an act with the same turn and attempt as `act`.
    pub(super) fn answered(&self, seat: Seat, act: &Act) -> Option<EarlierReply> {
        let place = &self.places[seat];
        let is_current = place.issued.checked_sub(1) == Some(act.turn);
        let current = is_current.then(|| self.answered_now(place, seat, act)).flatten();
        current.or_else(|| self.answered_before(seat, act))
    }

    /// Returns the earlier reply if its turn is still open or is part of an incomplete joint move.
    fn answered_now(&self, place: &SeatState, seat: Seat, act: &Act) -> Option<EarlierReply> {
        if let Some(tries) = tries_up_to(&place.tries, act.attempt) {
            return refused_again(&PromptedTurn { tries, ..self.open_prompt(seat, act.turn) }, act);
        }
        let played = place.pending.as_ref().filter(|played| played.attempt == act.attempt)?;
        accepted_again(&self.setup, &*self.state, &played.record, played.bank_ms, act)
    }

    /// Returns the earlier reply if its turn is in the match log.
    fn answered_before(&self, seat: Seat, act: &Act) -> Option<EarlierReply> {
        let log = &self.log;
        let of = |e: &RecordEvent| matches!(e, RecordEvent::Move(m) if m.seat as usize == seat && m.turn == act.turn);
        let at = log.events().iter().position(of)?;
        let RecordEvent::Move(m) = &log.events()[at] else { return None };
        let mut position = ReplayCursor::new(&*self.setup.game);
        while let Some(transition) = position.next(log.events()).filter(|t| position.at + t.len() <= at) {
            position.play(transition);
        }
        if let Some(tries) = tries_up_to(&m.tries, act.attempt) {
            let (state, events) = (&*position.state, &log.events()[..position.at]);
            let turn = PromptedTurn { setup: &self.setup, state, events, seat, turn: act.turn, tries };
            return refused_again(&turn, act);
        }
        if act.attempt as usize != m.tries.len() || m.forced {
            return None;
        }
        accepted_again(&self.setup, &*position.state, m, log.bank(at), act)
    }
}

/// Returns the refused attempts up to number `attempt`; `None` if there are fewer.
fn tries_up_to(tries: &[RefusedMove], attempt: u32) -> Option<&[RefusedMove]> {
    tries.get(..=attempt as usize)
}

fn accepted_again(
    setup: &MatchSetup,
    state: &dyn DynState,
    m: &MoveRecord,
    bank_ms: u64,
    act: &Act,
) -> Option<EarlierReply> {
    let played = parsed_move(m)?;
    let is_same = match act.as_move() {
        Some(chosen) => state.parse_move(m.seat as Seat, &chosen).is_ok_and(|parsed| parsed == played),
        None => answer_of(m.notes.as_ref()) == act.answer.as_deref(),
    };
    Some(EarlierReply { is_same, message: accepted(setup, state, m, bank_ms) })
}

/// Returns the reply to the last attempt of `turn`.
fn refused_again(turn: &PromptedTurn<'_>, act: &Act) -> Option<EarlierReply> {
    let PromptedTurn { setup, state, seat, tries, .. } = *turn;
    let (tried, before) = tries.split_last()?;
    let submitted = submitted_move(tried)?;
    let why = state.parse_move(seat, &submitted).err()?;
    let mut reply = refused_reply(setup, state, seat, (turn.turn, before), why);
    let is_same = match act.as_move() {
        Some(chosen) => chosen == submitted,
        None => answer_of(tried.notes.as_ref()) == act.answer.as_deref(),
    };
    if act.answer.is_some() {
        reply.answer = turn.refused_answer().ok();
    }
    Some(EarlierReply { is_same, message: ServerMessage::Refused(Box::new(reply)) })
}

/// Returns the reply to an accepted act; `state` is the position before the move.
pub(super) fn accepted(setup: &MatchSetup, state: &dyn DynState, m: &MoveRecord, bank_ms: u64) -> ServerMessage {
    let text = move_seen_of(state, Watcher::Full, m).text.unwrap_or_default();
    let match_id = setup.header.episode.clone();
    ServerMessage::Accepted(Accepted { match_id, seat: m.seat, turn: m.turn, action: m.action, text, bank_ms })
}

/// Returns the reply to a refused act; `before` has the earlier refused attempts of the turn.
pub(super) fn refused_reply(
    setup: &MatchSetup,
    state: &dyn DynState,
    seat: Seat,
    (turn, before): (u32, &[RefusedMove]),
    why: Refusal,
) -> ActRefused {
    let illegal = setup.header.illegal;
    let rule = illegal.rule(why.code);
    let tries_left = rule.tries.saturating_sub(illegal.used(before, why.code) + 1);
    ActRefused {
        match_id: setup.header.episode.clone(),
        seat: seat as u32,
        turn,
        attempt: before.len() as u32 + 1,
        code: why.code,
        message: why.message,
        tries_left,
        legal: Some(legal_of(state, seat)),
        answer: None,
        issues: (!why.issues.is_empty()).then_some(why.issues),
        applied_policy: (tries_left == 0).then_some(rule.policy),
    }
}
