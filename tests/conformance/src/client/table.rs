//! Match of a script: real rules, weak opponents, and a log of frames that can be sent again.

mod log;
mod refusals;
mod seat;

use ludex_env::batch::{Layout, forfeit};
use ludex_env::message_views::{legal_of, view_of};
use ludex_env::{Action, DynState, EventView, GameRef, Mover, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use ludex_protocol::Move;
use ludex_protocol::message::{
    Accepted, EventKind, Join, MatchEnd, MatchFrame, MatchStart, MatchView, SeatInfo, ServerMessage, TurnFrame,
};
use ludex_protocol::record::{AgentKind, Clock, EndReason, IllegalMoveRules, IllegalPolicy};

pub(super) use self::log::ScriptFrame;
pub(super) use self::seat::ScriptSeat;
use super::program::AGENT;

/// Number of illegal moves in one turn that forfeit the match.
const TRIES: u32 = 3;

/// Match of a script, with the frames that were sent.
pub(super) struct ScriptMatch {
    pub id: String,
    /// Seats of the client, at least one, in ascending order.
    pub seats: Vec<ScriptSeat>,
    game: GameRef,
    state: Box<dyn DynState>,
    /// Moves of the acting seats that have already moved, by seat.
    chosen: Vec<Option<ParsedMove>>,
    join: Join,
    extras: bool,
    /// All messages about the seats of the client, in the order of their creation.
    pub log: Vec<ScriptFrame>,
    pub over: bool,
}

impl ScriptMatch {
    /// Starts the match for a join, with the client in `seats`.
    pub fn new(game: GameRef, join: &Join, join_id: &str, seats: &[Seat], number: u32, extras: bool) -> Self {
        let spec = game.spec();
        let mut agents =
            vec![SeatInfo { name: "kit".into(), version: None, kind: AgentKind::Bot }; spec.players as usize];
        seats.iter().for_each(|&seat| agents[seat].name = AGENT.into());
        let id = format!("m_kit{number}");
        let start = MatchStart {
            seq: 0,
            match_id: id.clone(),
            join: Some(join_id.to_owned()),
            game: spec.game.clone(),
            params: spec.params.clone(),
            rules: spec.rules,
            hash: spec.hash.clone(),
            seat: None,
            variant: None,
            grace_ms: Some(60_000),
            kept_phases: Vec::new(),
            seats: agents,
            rated: false,
            clock: Clock::per_move(60_000),
            illegal: IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: TRIES, unparsed: None },
            skip_forced: false,
            seed_commit: Some("00".repeat(32)),
        };
        let mut table = ScriptMatch {
            id,
            seats: seats.iter().copied().map(ScriptSeat::new).collect(),
            state: game.start(),
            game,
            chosen: Vec::new(),
            join: join.clone(),
            extras,
            log: Vec::new(),
            over: false,
        };
        for seat in table.seat_numbers() {
            let start = MatchStart { seat: Some(seat as u32), ..start.clone() };
            table.push(seat, Some(MatchFrame::MatchStart(Box::new(start))));
        }
        table.settle();
        table
    }

    /// Returns the seat that a client's message names. The name may be absent if the client has one seat.
    pub fn seat_or_only(&self, seat: Option<u32>) -> Option<&ScriptSeat> {
        match (seat, self.seats.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(seat), _) => self.seat(seat as Seat),
        }
    }

    pub fn seat(&self, seat: Seat) -> Option<&ScriptSeat> {
        self.seats.iter().find(|held| held.seat == seat)
    }

    pub fn seat_mut(&mut self, seat: Seat) -> Option<&mut ScriptSeat> {
        self.seats.iter_mut().find(|held| held.seat == seat)
    }

    /// Returns the seats of the client, in ascending order.
    pub fn seat_numbers(&self) -> Vec<Seat> {
        self.seats.iter().map(|held| held.seat).collect()
    }

    /// Returns the pending turn of a seat.
    pub fn open(&self, seat: Seat) -> Option<&TurnFrame> {
        self.seat(seat)?.open.as_ref()
    }

    /// Plays until the client is to move or the match is over.
    fn settle(&mut self) {
        loop {
            match self.state.turn() {
                ToMove::Over => return self.end(EndReason::Finished, None),
                ToMove::Chance => self.draw(),
                acting => {
                    self.chosen = vec![None; self.game.spec().players as usize];
                    let (own, others): (Vec<Seat>, Vec<Seat>) =
                        acting.seats().iter().partition(|seat| self.seat_numbers().contains(seat));
                    for seat in others {
                        let Some(action) = self.mild(seat) else { return self.end(EndReason::InfraError, None) };
                        self.chosen[seat] = Some(ParsedMove::Action(action));
                    }
                    if !own.is_empty() {
                        return own.into_iter().for_each(|seat| self.ask(seat));
                    }
                    self.play();
                }
            }
        }
    }

    /// Plays the first outcome of chance.
    fn draw(&mut self) {
        let mut outcomes = Outcomes::new();
        self.state.chance(&mut outcomes);
        let Some(&(action, _)) = outcomes.items().first() else { return self.end(EndReason::InfraError, None) };
        let before = self.state.boxed();
        self.state.play_unchecked(action);
        self.announce(
            |viewer| before.seen(viewer, Mover::Chance, action),
            |action, text| EventKind::Chance { action, text },
        );
    }

    /// Returns a move of `seat` that does not end the game, if one exists.
    fn mild(&self, seat: Seat) -> Option<Action> {
        let legal = self.state.legal_list(seat);
        let lasts = |&&action: &&Action| {
            let mut after = self.state.boxed();
            after.play(seat, action).is_ok() && after.turn() != ToMove::Over
        };
        legal.iter().find(lasts).or_else(|| legal.first()).copied()
    }

    /// Plays the chosen moves and announces them in seat order.
    fn play(&mut self) {
        let before = self.state.boxed();
        let chosen = std::mem::take(&mut self.chosen);
        match (before.turn(), chosen.iter().flatten().next()) {
            (ToMove::Seat(_), Some(ParsedMove::Action(action))) => self.state.play_unchecked(*action),
            (ToMove::Seat(seat), Some(ParsedMove::Document(document))) => {
                // The game has returned this document from its parser.
                let _ = self.state.play_document(seat, document);
            }
            _ => self.state.play_joint_unchecked(&chosen),
        }
        for (seat, chosen) in chosen.iter().enumerate() {
            if let Some(chosen) = chosen {
                self.announce(
                    |viewer| view_move(&*before, viewer, seat, chosen),
                    |action, text| EventKind::Move { seat: seat as u32, action, text, ms: 1, forced: false },
                );
            }
        }
    }

    fn ask(&mut self, seat: Seat) {
        let viewer = Viewer::Seat(seat);
        let names = self.join.views.contains(&MatchView::Texts).then(|| {
            let view = self.state.view(viewer);
            self.state.legal_list(seat).iter().map(|&a| view.action_text(seat, a)).collect()
        });
        let mut turn = TurnFrame {
            seq: 0,
            match_id: self.id.clone(),
            seat: seat as u32,
            turn: self.seat(seat).map_or(0, |held| held.turns),
            attempt: 0,
            budget_ms: Some(60_000),
            bank_ms: vec![0; self.game.spec().players as usize],
            legal: legal_of(&*self.state, seat),
            names,
            view: view_of(&*self.state, viewer, &self.join.views, Layout::Ludex),
            phase: self.state.phase().map(str::to_owned),
            schema: self.state.schema(seat).map(str::to_owned),
        };
        turn.seq = self.push(seat, Some(MatchFrame::Turn(Box::new(turn.clone()))));
        if let Some(held) = self.seat_mut(seat) {
            held.turns += 1;
            held.open = Some(turn);
        }
    }

    /// Parses a move of a seat. Fails with the reason if the move is not legal in this position.
    pub fn read(&self, seat: Seat, given: &Move) -> Result<ParsedMove, String> {
        self.state.parse_move(seat, given).map_err(|refusal| refusal.message)
    }

    /// Accepts a move of the client. Once all acting seats have moved, plays on to the client's next turn.
    pub fn accept(&mut self, seat: Seat, given: ParsedMove) -> ServerMessage {
        let text = view_move(&*self.state, Viewer::Seat(seat), seat, &given).text.unwrap_or_default();
        let action = match &given {
            ParsedMove::Action(action) => Some(*action),
            ParsedMove::Document(_) => None,
        };
        let mut turn = 0;
        if let Some(held) = self.seat_mut(seat) {
            held.refused.clear();
            turn = held.open.take().map_or(0, |turn| turn.turn);
        }
        self.chosen[seat] = Some(given);
        if self.seats.iter().all(|held| held.open.is_none()) {
            self.play();
            self.settle();
        }
        let (match_id, seat) = (self.id.clone(), seat as u32);
        ServerMessage::Accepted(Accepted { match_id, seat, turn, action, text, bank_ms: 0 })
    }

    /// Ends the match, unless it is over.
    pub fn end(&mut self, reason: EndReason, at_fault: Option<Seat>) {
        if self.over {
            return;
        }
        self.over = true;
        let spec = self.game.spec();
        let mut returns = self.state.returns();
        if let Some(seat) = at_fault {
            forfeit(spec, seat, &mut returns);
        }
        let outcome = ludex_referee::outcome::outcomes(spec, self.state.teams().as_deref(), &returns, reason, at_fault);
        let end = MatchEnd {
            seq: 0,
            match_id: self.id.clone(),
            seat: None,
            returns,
            outcome,
            reason,
            at_fault: at_fault.map(|seat| seat as u32),
            rated: false,
            digest: None,
            seed: None,
            salt: None,
            record: format!("/episodes/{}", self.id),
        };
        for seat in self.seat_numbers() {
            let end = MatchEnd { seat: Some(seat as u32), ..end.clone() };
            self.push(seat, Some(MatchFrame::MatchEnd(Box::new(end))));
        }
        self.seats.iter_mut().for_each(|held| held.open = None);
    }
}

/// Returns the part of a move that `viewer` may see.
fn view_move(before: &dyn DynState, viewer: Viewer, seat: Seat, given: &ParsedMove) -> EventView {
    match given {
        ParsedMove::Action(action) => before.seen(viewer, Mover::Seat(seat), *action),
        ParsedMove::Document(document) => before.observe_document(viewer, seat, document),
    }
}
