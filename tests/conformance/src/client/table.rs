//! Match of a script: real rules, a weak opponent, and a log of frames that can be sent again.

use std::collections::BTreeSet;

use ludex_env::batch::{Layout, forfeit};
use ludex_env::{Action, DynState, GameRef, Mover, ParsedMove, Seat, ToMove, Viewer};
use ludex_protocol::error::{ErrorCode, Issue};
use ludex_protocol::message::{
    Accepted, ActRefused, EventKind, Join, MatchEnd, MatchEvent, MatchFrame, MatchStart, ResumedMatch, Resync,
    SeatInfo, ServerMessage, TurnFrame,
};
use ludex_protocol::record::{AgentKind, Clock, EndReason, IllegalMoveRules, IllegalPolicy};
use ludex_protocol::{Legal, Move};
use serde_json::Value;

use super::program::AGENT;
use ludex_env::message_views::{legal_of, view_of};

/// Number of illegal moves in one turn that forfeit the match.
pub(super) const TRIES: u32 = 3;

/// Message to the client, with its sequence number.
#[derive(Clone)]
pub(super) enum ScriptFrame {
    /// Frame of the match.
    Known(MatchFrame),
    /// Event of an unknown kind, with this sequence number.
    Unknown(u64),
}

impl ScriptFrame {
    pub fn seq(&self) -> u64 {
        match self {
            ScriptFrame::Known(frame) => frame.seq(),
            ScriptFrame::Unknown(seq) => *seq,
        }
    }
}

/// Match of a script, with the frames that were sent.
pub(super) struct ScriptMatch {
    pub id: String,
    pub seat: Seat,
    game: GameRef,
    state: Box<dyn DynState>,
    join: Join,
    extras: bool,
    pub log: Vec<ScriptFrame>,
    /// Pending turn of the client.
    pub open: Option<TurnFrame>,
    turns: u32,
    pub over: bool,
    /// Moves of the pending turn that were refused although they are legal.
    refused: BTreeSet<Action>,
}

impl ScriptMatch {
    /// Starts the match for a join.
    pub fn new(join: &Join, join_id: &str, seat: Seat, number: u32, extras: bool) -> Result<Self, String> {
        let game = ludex_games::load_with(&join.game, &join.params).map_err(|e| e.message)?;
        let spec = game.spec();
        let mut seats =
            vec![SeatInfo { name: "kit".into(), version: None, kind: AgentKind::Bot }; spec.players as usize];
        if let Some(own) = seats.get_mut(seat) {
            own.name = AGENT.into();
        }
        let id = format!("m_kit{number}");
        let start = MatchStart {
            seq: 0,
            match_id: id.clone(),
            join: Some(join_id.to_owned()),
            game: spec.game.clone(),
            params: spec.params.clone(),
            rules: spec.rules,
            hash: spec.hash.clone(),
            seat: Some(seat as u32),
            variant: None,
            grace_ms: Some(60_000),
            kept_phases: Vec::new(),
            seats,
            rated: false,
            clock: Clock::per_move(60_000),
            illegal: IllegalMoveRules { policy: IllegalPolicy::Forfeit, tries: TRIES, unparsed: None },
            skip_forced: false,
            seed_commit: Some("00".repeat(32)),
        };
        let log = vec![ScriptFrame::Known(MatchFrame::MatchStart(Box::new(start)))];
        let state = game.start();
        let join = join.clone();
        let mut table = ScriptMatch {
            id,
            seat,
            game,
            state,
            join,
            extras,
            log,
            open: None,
            turns: 0,
            over: false,
            refused: BTreeSet::new(),
        };
        table.settle();
        Ok(table)
    }

    /// Returns the sequence number of the next frame.
    fn next(&self) -> u64 {
        self.log.last().map_or(0, |frame| frame.seq() + 1)
    }

    fn push(&mut self, mut frame: MatchFrame) -> u64 {
        let seq = self.next();
        frame.set_seq(seq);
        self.log.push(ScriptFrame::Known(frame));
        seq
    }

    /// Plays until the client is to move or the match is over.
    fn settle(&mut self) {
        loop {
            match self.state.turn() {
                ToMove::Seat(seat) if seat == self.seat => return self.ask(),
                ToMove::Seat(seat) => match self.mild(seat) {
                    Some(action) => self.play(seat, action),
                    None => return self.end(EndReason::InfraError, None),
                },
                // The game has neither chance nor joint moves.
                ToMove::Over | ToMove::Chance | ToMove::Simultaneous(_) => return self.end(EndReason::Finished, None),
            }
        }
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

    fn play(&mut self, seat: Seat, action: Action) {
        let seen = self.state.seen(Viewer::Seat(self.seat), Mover::Seat(seat), action);
        self.state.play_unchecked(action);
        if let Some(text) = seen.text {
            let kind = EventKind::Move { seat: seat as u32, action: seen.action, text, ms: 1, forced: false };
            let event =
                MatchEvent { seq: 0, match_id: self.id.clone(), viewer: Some(self.seat as u32), kind, view: None };
            self.push(MatchFrame::Event(Box::new(event)));
        }
        if self.extras {
            let seq = self.next();
            self.log.push(ScriptFrame::Unknown(seq));
        }
    }

    fn ask(&mut self) {
        use ludex_protocol::message::MatchView;
        let viewer = Viewer::Seat(self.seat);
        let names = self.join.views.contains(&MatchView::Texts).then(|| {
            let view = self.state.view(viewer);
            self.state.legal_list(self.seat).iter().map(|&a| view.action_text(self.seat, a)).collect()
        });
        let mut turn = TurnFrame {
            seq: 0,
            match_id: self.id.clone(),
            seat: self.seat as u32,
            turn: self.turns,
            attempt: 0,
            budget_ms: Some(60_000),
            bank_ms: vec![0; self.game.spec().players as usize],
            legal: legal_of(&*self.state, self.seat),
            names,
            view: view_of(&*self.state, viewer, &self.join.views, Layout::Ludex),
            phase: self.state.phase().map(str::to_owned),
            schema: self.state.schema(self.seat).map(str::to_owned),
        };
        self.turns += 1;
        turn.seq = self.push(MatchFrame::Turn(Box::new(turn.clone())));
        self.open = Some(turn);
    }

    /// Returns the game string, with parameters.
    pub fn game_string(&self) -> &str {
        &self.game.spec().string
    }

    /// Converts a move to an action. Fails with the reason if the move is not legal in this position.
    pub fn read(&self, given: &Move) -> Result<Action, String> {
        match self.state.parse_move(self.seat, given) {
            Ok(ParsedMove::Action(action)) => Ok(action),
            Ok(ParsedMove::Document(_)) => Err("expected an action or a text; the game accepts no documents".into()),
            Err(refusal) => Err(refusal.message),
        }
    }

    /// Plays the client's move and the opponent's reply.
    pub fn accept(&mut self, action: Action) -> ServerMessage {
        self.refused.clear();
        let text = self.state.view(Viewer::Seat(self.seat)).action_text(self.seat, action);
        let turn = self.open.take().map_or(0, |turn| turn.turn);
        self.play(self.seat, action);
        self.settle();
        let (match_id, seat) = (self.id.clone(), self.seat as u32);
        ServerMessage::Accepted(Accepted { match_id, seat, turn, action: Some(action), text, bank_ms: 0 })
    }

    /// Returns true if this action was already refused in the pending turn.
    pub fn was_refused(&self, action: Action) -> bool {
        self.refused.contains(&action)
    }

    /// Refuses a legal move; later lists of legal moves omit it.
    pub fn refuse_legal(&mut self, action: Action, legal: bool) -> ServerMessage {
        self.refused.insert(action);
        self.refuse("this check refuses the move; send a different one".into(), None, legal)
    }

    /// Refuses a document regardless of its content.
    pub fn refuse_document(&mut self, said: &Value) -> ServerMessage {
        let why = "this check refuses the document; send it again or send a different one";
        let flaw = |path: &str| Issue::new(path, said, "a ply", why).code("illegal");
        self.refuse(why.into(), Some(vec![flaw("/move"), flaw("/say")]), true)
    }

    /// Refuses the client's move. The last allowed refusal forfeits the match.
    pub fn refuse(&mut self, message: String, issues: Option<Vec<Issue>>, legal: bool) -> ServerMessage {
        let (mut turn, mut attempt) = (0, 0);
        if let Some(open) = &mut self.open {
            open.attempt += 1;
            (turn, attempt) = (open.turn, open.attempt);
        }
        let tries_left = TRIES.saturating_sub(attempt);
        if tries_left == 0 {
            self.end(EndReason::Illegal, Some(self.seat));
        }
        ServerMessage::Refused(Box::new(ActRefused {
            match_id: self.id.clone(),
            seat: self.seat as u32,
            turn,
            attempt,
            code: ErrorCode::IllegalAction,
            message,
            tries_left,
            legal: legal.then(|| self.legal()),
            issues,
            applied_policy: (tries_left == 0).then_some(IllegalPolicy::Forfeit),
        }))
    }

    /// Returns the legal moves that were not refused.
    fn legal(&self) -> Legal {
        if self.refused.is_empty() {
            return legal_of(&*self.state, self.seat);
        }
        let left = self.state.legal_list(self.seat).into_iter().filter(|action| !self.refused.contains(action));
        Legal::Ids(left.collect())
    }

    /// Ends the match, unless it is over.
    pub fn end(&mut self, reason: EndReason, at_fault: Option<Seat>) {
        if self.over {
            return;
        }
        self.over = true;
        self.open = None;
        let spec = self.game.spec();
        let mut returns = self.state.returns();
        if let Some(seat) = at_fault {
            forfeit(spec, seat, &mut returns);
        }
        let outcome = ludex_referee::outcome::outcomes(spec, self.state.teams().as_deref(), &returns, reason, at_fault);
        let end = MatchEnd {
            seq: 0,
            match_id: self.id.clone(),
            seat: Some(self.seat as u32),
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
        self.push(MatchFrame::MatchEnd(Box::new(end)));
    }

    /// Returns the entry of the match in a `welcome`.
    pub fn resume_entry(&self) -> ResumedMatch {
        let seq = self.log.last().map_or(0, ScriptFrame::seq);
        ResumedMatch { match_id: self.id.clone(), seat: Some(self.seat as u32), seq }
    }

    /// Returns a `resync` with the complete state of the match.
    pub fn resync(&self) -> ServerMessage {
        let mut resync = Resync {
            seq: self.log.last().map_or(0, ScriptFrame::seq),
            match_id: self.id.clone(),
            seat: Some(self.seat as u32),
            turn: self.open.clone().map(Box::new),
            ..Resync::default()
        };
        for frame in &self.log {
            match frame {
                ScriptFrame::Known(MatchFrame::MatchStart(start)) => resync.start = start.clone(),
                ScriptFrame::Known(MatchFrame::MatchEnd(end)) => resync.end = Some(end.clone()),
                ScriptFrame::Known(MatchFrame::Turn(_)) | ScriptFrame::Unknown(_) => {}
                ScriptFrame::Known(event) => resync.events.push(event.clone()),
            }
        }
        ServerMessage::Resync(Box::new(resync))
    }
}
