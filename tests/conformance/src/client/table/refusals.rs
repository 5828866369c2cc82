//! Refused acts of the client in a scripted match.

use ludex_env::message_views::legal_of;
use ludex_env::{ParsedMove, Seat};
use ludex_protocol::Legal;
use ludex_protocol::error::{ErrorCode, Issue};
use ludex_protocol::message::{ActRefused, ServerMessage};
use ludex_protocol::record::{EndReason, IllegalPolicy};
use serde_json::Value;

use super::{ScriptMatch, TRIES};

impl ScriptMatch {
    /// Returns true if this move was already refused in the pending turn.
    pub fn was_refused(&self, seat: Seat, given: &ParsedMove) -> bool {
        self.seat(seat).is_some_and(|held| held.refused.contains(given))
    }

    /// Refuses a legal move; later lists of legal moves omit it.
    pub fn refuse_legal(&mut self, seat: Seat, given: ParsedMove, legal: bool) -> ServerMessage {
        self.seat_mut(seat).into_iter().for_each(|held| held.refused.push(given.clone()));
        self.refuse(seat, "this check refuses the move; send a different one".into(), None, legal)
    }

    /// Refuses a document regardless of its content.
    pub fn refuse_document(&mut self, seat: Seat, said: &Value) -> ServerMessage {
        let why = "this check refuses the document; send it again or send a different one";
        let flaw = |path: &str| Issue::new(path, said, "a ply", why).code("illegal");
        self.refuse(seat, why.into(), Some(vec![flaw("/move"), flaw("/say")]), true)
    }

    /// Refuses the client's move. The last allowed refusal forfeits the match.
    pub fn refuse(&mut self, seat: Seat, message: String, issues: Option<Vec<Issue>>, legal: bool) -> ServerMessage {
        let (mut turn, mut attempt) = (0, 0);
        if let Some(open) = self.seat_mut(seat).and_then(|held| held.open.as_mut()) {
            open.attempt += 1;
            (turn, attempt) = (open.turn, open.attempt);
        }
        let tries_left = TRIES.saturating_sub(attempt);
        if tries_left == 0 {
            self.end(EndReason::Illegal, Some(seat));
        }
        ServerMessage::Refused(Box::new(ActRefused {
            match_id: self.id.clone(),
            seat: seat as u32,
            turn,
            attempt,
            code: ErrorCode::IllegalAction,
            message,
            tries_left,
            legal: legal.then(|| self.legal(seat)),
            answer: None,
            issues,
            applied_policy: (tries_left == 0).then_some(IllegalPolicy::Forfeit),
        }))
    }

    /// Returns the legal moves of a seat that were not refused.
    fn legal(&self, seat: Seat) -> Legal {
        let refused = self.seat(seat).map_or(&[][..], |held| &held.refused);
        if refused.is_empty() {
            return legal_of(&*self.state, seat);
        }
        let left = self.state.legal_list(seat).into_iter();
        Legal::Ids(left.filter(|&action| !refused.contains(&ParsedMove::Action(action))).collect())
    }
}
