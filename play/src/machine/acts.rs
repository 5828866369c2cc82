//! What seats answer: keys, refusals, acceptance.

use ludex_env::{Attempt, DynState, Given, Heard, Seat, Stream, Viewer};
use ludex_protocol::Move;
use ludex_protocol::client::Act;
use ludex_protocol::error::{ErrorCode, Refusal};
use ludex_protocol::record::{IllegalPolicy, Notes, Reason, Try};
use ludex_protocol::server::{Accepted, Refused, ServerMessage};

use super::{Match, replay};
use crate::machine::terms::{Kept, KeptAct, Output};
use ludex_env::present::legal_of;

/// What was answered to (turn, try).
pub(super) struct Answer {
    pub(super) given: Move,
    /// Events before the move, to read other notations of it in the position where it was made.
    pub(super) at: usize,
    pub(super) canonical: Option<Heard>,
    pub(super) message: ServerMessage,
}

impl Match {
    /// The rule of keys, in this order: known and the same: the first answer again; a lower turn: stale; known and
    /// another move: conflict; a higher turn or try: not yet. None of these costs a try.
    pub(super) fn act(&mut self, now: u64, seat: Seat, re: i64, act: Act) {
        let Some(chosen) = act.chosen() else {
            let e = Refusal::new(ErrorCode::BadField, "an act has exactly one of action, text and proposal");
            return self.reply(seat, re, e.path("action").into());
        };
        let key = (act.turn, act.attempt);
        let place = &self.places[seat];
        let current = place.issued.checked_sub(1);
        if let Some(answer) = place.answers.get(&key) {
            if self.same_move(seat, answer, &chosen) {
                let message = answer.message.clone();
                return self.reply(seat, re, message);
            }
            let code = if current.is_some_and(|c| act.turn < c) { ErrorCode::StaleTurn } else { ErrorCode::Conflict };
            let text = format!("turn {} try {} was answered with another move", act.turn, act.attempt);
            return self.reply(seat, re, Refusal::new(code, text).into());
        }
        let open = current.filter(|_| place.open.is_some());
        let tries = place.tries.len() as u32;
        let e = match (open, current) {
            _ if self.over() => Refusal::new(ErrorCode::MatchOver, "the match is over"),
            (_, Some(c)) if act.turn < c => {
                Refusal::new(ErrorCode::StaleTurn, format!("turn {} is past; this seat is at turn {c}", act.turn))
            }
            (Some(c), _) if act.turn == c && act.attempt == tries => {
                return self.play(now, seat, re, chosen, act.notes);
            }
            (Some(c), _) => Refusal::new(
                ErrorCode::NotYourTurn,
                format!("this seat is at turn {c} try {tries}, not at turn {} try {}", act.turn, act.attempt),
            ),
            _ => Refusal::new(ErrorCode::NotYourTurn, "this seat is not to move"),
        };
        self.reply(seat, re, e.into());
    }

    fn same_move(&self, seat: Seat, answer: &Answer, chosen: &Move) -> bool {
        if answer.given == *chosen {
            return true;
        }
        let Some(canonical) = &answer.canonical else { return false };
        self.state_at(answer.at).read(seat, &given_of(chosen)).is_ok_and(|heard| heard == *canonical)
    }

    /// The position after the first `n` events.
    fn state_at(&self, n: usize) -> Box<dyn DynState> {
        replay(&*self.setup.game, &self.events[..n.min(self.events.len())])
    }

    fn play(&mut self, now: u64, seat: Seat, re: i64, chosen: Move, notes: Option<Notes>) {
        let notes = notes.filter(|n| !n.is_empty());
        self.places[seat].acted = true;
        match self.state.read(seat, &given_of(&chosen)) {
            Ok(heard) => {
                let act = self.accept(now, seat, &heard, notes, false);
                let answer = self.remember(seat, chosen, &heard, &act);
                self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
                self.reply(seat, re, answer);
                self.apply(seat, act);
            }
            Err(refusal) => self.refuse(now, seat, Some(re), chosen, refusal, notes),
        }
    }

    /// Stops the clock and builds the row of a move that counts.
    fn accept(&mut self, now: u64, seat: Seat, heard: &Heard, notes: Option<Notes>, forced: bool) -> KeptAct {
        let ms = self.clocks.stop(seat, now);
        let place = &self.places[seat];
        let (action, said) = match heard {
            Heard::Action(a) => (Some(*a), None),
            Heard::Said(v) => (None, Some(v.clone())),
        };
        let (turn, attempt) = (place.issued.saturating_sub(1), place.tries.len() as u32);
        KeptAct { seat, turn, attempt, action, said, ms, notes, forced, bank_ms: self.clocks.banks()[seat] }
    }

    /// Keeps the answer `accepted` under its key and returns it.
    pub(super) fn remember(&mut self, seat: Seat, given: Move, heard: &Heard, act: &KeptAct) -> ServerMessage {
        let text = match heard {
            Heard::Action(a) => self.state.view(Viewer::Seat(seat)).action_text(seat, *a),
            Heard::Said(v) => self.state.seen_said(Viewer::Seat(seat), seat, v).text.unwrap_or_default(),
        };
        let accepted =
            Accepted { match_id: self.id().to_owned(), turn: act.turn, action: act.action, text, bank_ms: act.bank_ms };
        let message = ServerMessage::Accepted(accepted);
        let answer = Answer { given, at: self.events.len(), canonical: Some(heard.clone()), message: message.clone() };
        self.places[seat].answers.insert((act.turn, act.attempt), answer);
        message
    }

    /// Counts a refusal and says what follows; `re` is the request of a client, which an in-process agent has not.
    fn refuse(&mut self, now: u64, seat: Seat, re: Option<i64>, chosen: Move, why: Refusal, notes: Option<Notes>) {
        let policy = self.setup.header.illegal;
        let ms = self.clocks.used(seat, now);
        let place = &mut self.places[seat];
        let tried = Try {
            action: if let Move::Id(id) = chosen { Some(id) } else { None },
            text: if let Move::Text(t) = &chosen { Some(t.clone()) } else { None },
            proposal: if let Move::Document(p) = &chosen { Some(p.clone()) } else { None },
            code: ErrorCode::IllegalAction,
            ms,
            notes,
        };
        let attempt = place.tries.len() as u32;
        place.attempts.push(attempt_of(&tried, &why.message));
        place.tries.push(tried.clone());
        let tries_left = policy.tries.saturating_sub(attempt + 1);
        let turn = place.issued.saturating_sub(1);
        let refused = Refused {
            match_id: self.setup.header.episode.clone(),
            turn,
            attempt: attempt + 1,
            code: ErrorCode::IllegalAction,
            message: why.message,
            tries_left,
            legal: Some(legal_of(&*self.state, seat)),
            issues: (!why.issues.is_empty()).then_some(why.issues),
            then: (tries_left == 0).then_some(policy.policy),
        };
        let message = ServerMessage::Refused(Box::new(refused.clone()));
        let answer = Answer { given: chosen, at: self.events.len(), canonical: None, message: message.clone() };
        self.places[seat].answers.insert((turn, attempt), answer);
        self.out.push(Output::Keep(Box::new(Kept::Refused { seat, tried, answer: Box::new(refused) })));
        if let Some(re) = re {
            self.reply(seat, re, message);
        }
        if tries_left > 0 {
            if self.places[seat].asked {
                self.out.push(Output::Ask(seat));
            }
            return self.renew_try(seat);
        }
        let forced = match policy.policy {
            IllegalPolicy::Forfeit => return self.finish(Reason::Illegal, Some(seat)),
            IllegalPolicy::Default => self.state.default_action(seat),
            IllegalPolicy::Random => {
                // A purpose of its own, and the seat's own turn: the same for everybody who replays it.
                let mut rng = Stream::named(&format!("{}:{seat}:{turn}", hex::encode(self.draw.other("policy"))));
                self.state.random_action(seat, &mut rng)
            }
        };
        let act = self.accept(now, seat, &Heard::Action(forced), None, true);
        self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
        self.apply(seat, act);
    }

    /// The open turn shows the number of tries, for those who come back.
    pub(super) fn renew_try(&mut self, seat: Seat) {
        let place = &mut self.places[seat];
        let tries = place.tries.len() as u32;
        if let Some(open) = &mut place.open {
            open.attempt = tries;
        }
    }

    pub(super) fn answer(&mut self, now: u64, seat: Seat, turn: u32, given: Given, notes: Option<Notes>) {
        let expected = self.places.get(seat).is_some_and(|p| p.asked && p.issued.checked_sub(1) == Some(turn));
        if self.over() || !expected {
            return;
        }
        self.places[seat].acted = true;
        match self.state.read(seat, &given) {
            Ok(heard) => {
                let act = self.accept(now, seat, &heard, notes.filter(|n| !n.is_empty()), false);
                self.out.push(Output::Keep(Box::new(Kept::Act(act.clone()))));
                self.apply(seat, act);
            }
            Err(refusal) => {
                tracing::warn!(match_id = self.id(), seat, %refusal, "an in-process agent made an illegal move");
                let chosen = match given {
                    Given::Id(id) => Move::Id(id),
                    Given::Text(text) => Move::Text(text),
                    Given::Document(document) => Move::Document(document),
                };
                self.refuse(now, seat, None, chosen, refusal, notes);
            }
        }
    }
}

/// A refusal as an in-process agent is told it.
pub(super) fn attempt_of(tried: &Try, why: &str) -> Attempt {
    let document = |p: &serde_json::Value| p.to_string();
    let said = tried.text.clone().or_else(|| tried.proposal.as_ref().map(document));
    Attempt { said: said.or_else(|| tried.action.map(|a| a.to_string())).unwrap_or_default(), why: why.to_owned() }
}

fn given_of(m: &Move) -> Given {
    match m {
        Move::Id(id) => Given::Id(*id),
        Move::Text(t) => Given::Text(t.clone()),
        Move::Document(p) => Given::Document(p.clone()),
    }
}
