//! Replies to earlier acts, rebuilt from the match log when a client repeats a request.

use ludex_env::message_views::legal_of;
use ludex_env::recording::submitted_move;
use ludex_env::{DynState, ParsedMove, Seat, Viewer};
use ludex_protocol::Move;
use ludex_protocol::error::Refusal;
use ludex_protocol::message::{Accepted, ActRefused, ServerMessage};
use ludex_protocol::record::{MoveRecord, RecordEvent, RefusedMove};

use super::interface::{AcceptedMove, MatchSetup};
use super::match_log::MatchLog;
use super::replay_cursor::ReplayCursor;
use super::{MatchMachine, SeatState};

/// Reply to an earlier act, with what identifies that act.
pub(super) struct EarlierReply {
    /// Position before the act.
    state: Box<dyn DynState>,
    seat: Seat,
    what: What,
    pub(super) message: ServerMessage,
}

enum What {
    Accepted(ParsedMove),
    Refused(Move),
}

impl EarlierReply {
    /// Returns true if `chosen` is the same move: refused moves must match literally, accepted ones in any notation.
    pub(super) fn is_to(&self, chosen: &Move) -> bool {
        match &self.what {
            What::Refused(given) => given == chosen,
            What::Accepted(heard) => self.state.parse_move(self.seat, chosen).is_ok_and(|h| h == *heard),
        }
    }
}

impl MatchMachine {
    /// Returns the reply that `seat` received for the act with this key.
    pub(super) fn answered(&self, seat: Seat, turn: u32, attempt: u32) -> Option<EarlierReply> {
        self.with_story(|story| {
            let place = &self.places[seat];
            if place.issued.checked_sub(1) == Some(turn)
                && let Some(found) = self.answered_now(place, seat, turn, attempt)
            {
                return Some(found);
            }
            self.answered_before(story, seat, turn, attempt)
        })
    }

    /// Searches the turn that is open or whose joint move is incomplete.
    fn answered_now(&self, place: &SeatState, seat: Seat, turn: u32, attempt: u32) -> Option<EarlierReply> {
        let state = || self.state.boxed();
        if let Some((tried, before)) = attempt_of(&place.tries, attempt) {
            return refused_again(&self.setup, state(), seat, turn, before, tried);
        }
        let act = place.pending.as_ref().filter(|act| act.attempt == attempt)?;
        accepted_again(&self.setup, state(), act)
    }

    /// Searches the turns in the log.
    fn answered_before(&self, story: &MatchLog, seat: Seat, turn: u32, attempt: u32) -> Option<EarlierReply> {
        let of = |e: &RecordEvent| matches!(e, RecordEvent::Move(m) if m.seat as usize == seat && m.turn == turn);
        let at = story.events().iter().position(of)?;
        let RecordEvent::Move(m) = &story.events()[at] else { return None };
        let mut position = ReplayCursor::new(&*self.setup.game);
        while let Some(transition) = position.next(story.events()).filter(|t| position.at + t.len() <= at) {
            position.play(transition);
        }
        if let Some((tried, before)) = attempt_of(&m.tries, attempt) {
            return refused_again(&self.setup, position.state, seat, turn, before, tried);
        }
        if attempt as usize != m.tries.len() || m.forced {
            return None;
        }
        accepted_again(&self.setup, position.state, &act_of(m, attempt, story.bank(at)))
    }
}

/// Returns a refused attempt of a turn and the attempts before it.
fn attempt_of(tries: &[RefusedMove], attempt: u32) -> Option<(&RefusedMove, &[RefusedMove])> {
    let at = attempt as usize;
    Some((tries.get(at)?, tries.get(..at)?))
}

fn act_of(m: &MoveRecord, attempt: u32, bank_ms: u64) -> AcceptedMove {
    let (seat, turn, action, said) = (m.seat as Seat, m.turn, m.action, m.said.clone());
    AcceptedMove { seat, turn, attempt, action, said, ms: m.ms, notes: None, forced: false, bank_ms }
}

fn accepted_again(setup: &MatchSetup, state: Box<dyn DynState>, act: &AcceptedMove) -> Option<EarlierReply> {
    let heard = act.parsed_move()?;
    let message = accepted(setup, &*state, act);
    Some(EarlierReply { state, seat: act.seat, what: What::Accepted(heard), message })
}

fn refused_again(
    setup: &MatchSetup,
    state: Box<dyn DynState>,
    seat: Seat,
    turn: u32,
    before: &[RefusedMove],
    tried: &RefusedMove,
) -> Option<EarlierReply> {
    let given = submitted_move(tried)?;
    let why = state.parse_move(seat, &given).err()?;
    let message = ServerMessage::Refused(Box::new(refused_reply(setup, &*state, seat, (turn, before), why)));
    Some(EarlierReply { state, seat, what: What::Refused(given), message })
}

/// Returns the reply to an accepted act; `state` is the position before it.
pub(super) fn accepted(setup: &MatchSetup, state: &dyn DynState, act: &AcceptedMove) -> ServerMessage {
    let seat = act.seat;
    let text = match (act.action, &act.said) {
        (Some(a), _) => state.view(Viewer::Seat(seat)).action_text(seat, a),
        (None, Some(said)) => state.seen_said(Viewer::Seat(seat), seat, said).text.unwrap_or_default(),
        (None, None) => String::new(),
    };
    let match_id = setup.header.episode.clone();
    ServerMessage::Accepted(Accepted { match_id, turn: act.turn, action: act.action, text, bank_ms: act.bank_ms })
}

/// Returns the reply to an act that is refused after the attempts `before` in the same turn.
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
        turn,
        attempt: before.len() as u32 + 1,
        code: why.code,
        message: why.message,
        tries_left,
        legal: Some(legal_of(state, seat)),
        issues: (!why.issues.is_empty()).then_some(why.issues),
        then: (tries_left == 0).then_some(rule.policy),
    }
}
