//! Replies to earlier acts, rebuilt from the match log when a client repeats a request.

use ludex_env::message_views::legal_of;
use ludex_env::recording::{parsed_move, submitted_move};
use ludex_env::{DynState, Seat};
use ludex_protocol::Move;
use ludex_protocol::error::Refusal;
use ludex_protocol::message::{Accepted, ActRefused, ServerMessage};
use ludex_protocol::record::{MoveRecord, RecordEvent, RefusedMove};

use super::interface::MatchSetup;
use super::narrator::move_seen_of;
use super::replay_cursor::ReplayCursor;
use super::{MatchMachine, SeatState, Watcher};

/// Reply to an earlier act, for a client that repeats an act with the same turn and attempt.
pub(super) struct EarlierReply {
    /// True if the repeated act has the same move. Refused moves must be literally equal; accepted moves may differ in
    /// notation.
    pub(super) is_same: bool,
    pub(super) message: ServerMessage,
}

impl MatchMachine {
    /// Returns the reply that `seat` received for the act with key (`turn`, `attempt`). `chosen` is the repeated move.
    pub(super) fn answered(&self, seat: Seat, turn: u32, attempt: u32, chosen: &Move) -> Option<EarlierReply> {
        let place = &self.places[seat];
        let is_current = place.issued.checked_sub(1) == Some(turn);
        let current = is_current.then(|| self.answered_now(place, seat, turn, attempt, chosen)).flatten();
        current.or_else(|| self.answered_before(seat, turn, attempt, chosen))
    }

    /// Returns the earlier reply if its turn is still open or is part of an incomplete joint move.
    fn answered_now(
        &self,
        place: &SeatState,
        seat: Seat,
        turn: u32,
        attempt: u32,
        chosen: &Move,
    ) -> Option<EarlierReply> {
        if let Some((tried, before)) = attempt_of(&place.tries, attempt) {
            return refused_again(&self.setup, &*self.state, seat, (turn, before), tried, chosen);
        }
        let act = place.pending.as_ref().filter(|act| act.attempt == attempt)?;
        accepted_again(&self.setup, &*self.state, &act.record, act.bank_ms, chosen)
    }

    /// Returns the earlier reply if its turn is in the match log.
    fn answered_before(&self, seat: Seat, turn: u32, attempt: u32, chosen: &Move) -> Option<EarlierReply> {
        let log = &self.log;
        let of = |e: &RecordEvent| matches!(e, RecordEvent::Move(m) if m.seat as usize == seat && m.turn == turn);
        let at = log.events().iter().position(of)?;
        let RecordEvent::Move(m) = &log.events()[at] else { return None };
        let mut position = ReplayCursor::new(&*self.setup.game);
        while let Some(transition) = position.next(log.events()).filter(|t| position.at + t.len() <= at) {
            position.play(transition);
        }
        if let Some((tried, before)) = attempt_of(&m.tries, attempt) {
            return refused_again(&self.setup, &*position.state, seat, (turn, before), tried, chosen);
        }
        if attempt as usize != m.tries.len() || m.forced {
            return None;
        }
        accepted_again(&self.setup, &*position.state, m, log.bank(at), chosen)
    }
}

/// Returns the refused attempt with number `attempt`, and the attempts before it.
fn attempt_of(tries: &[RefusedMove], attempt: u32) -> Option<(&RefusedMove, &[RefusedMove])> {
    let at = attempt as usize;
    Some((tries.get(at)?, tries.get(..at)?))
}

fn accepted_again(
    setup: &MatchSetup,
    state: &dyn DynState,
    m: &MoveRecord,
    bank_ms: u64,
    chosen: &Move,
) -> Option<EarlierReply> {
    let played = parsed_move(m)?;
    let is_same = state.parse_move(m.seat as Seat, chosen).is_ok_and(|parsed| parsed == played);
    Some(EarlierReply { is_same, message: accepted(setup, state, m, bank_ms) })
}

fn refused_again(
    setup: &MatchSetup,
    state: &dyn DynState,
    seat: Seat,
    (turn, before): (u32, &[RefusedMove]),
    tried: &RefusedMove,
    chosen: &Move,
) -> Option<EarlierReply> {
    let submitted = submitted_move(tried)?;
    let why = state.parse_move(seat, &submitted).err()?;
    let message = ServerMessage::Refused(Box::new(refused_reply(setup, state, seat, (turn, before), why)));
    Some(EarlierReply { is_same: submitted == *chosen, message })
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
        issues: (!why.issues.is_empty()).then_some(why.issues),
        applied_policy: (tries_left == 0).then_some(rule.policy),
    }
}
