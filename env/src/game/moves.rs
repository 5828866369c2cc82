//! Chance, joint moves, documents, and queries of legal actions.

use serde_json::Value;
use smallvec::SmallVec;

use ludex_protocol::error::Issue;

use super::sinks::Short;
use super::{Action, Find, Game, MaskSink, Nth, Outcomes, ParsedMove, Seat};
use crate::draw::Stream;

/// Chance, joint moves, documents, and queries of legal actions. By default, the queries call [`legal`](Game::legal); a
/// game may override them with faster implementations.
pub trait GameMoves: Game {
    /// Writes the legal actions of `seat` as ones and zeros, one byte per action id. Default: uses
    /// [`legal`](Game::legal).
    fn mask(&self, s: &Self::State, seat: Seat, out: &mut [u8]) {
        out.fill(0);
        self.legal(s, seat, &mut MaskSink(out));
    }
    /// Returns true if `a` is legal for `seat` now. Default: searches [`legal`](Game::legal).
    fn is_legal(&self, s: &Self::State, seat: Seat, a: Action) -> bool {
        let mut find = Find { wanted: a, found: false };
        self.legal(s, seat, &mut find);
        find.found
    }
    /// Returns a uniformly random legal action of `seat`, which must act now. Default: draws from
    /// [`legal`](Game::legal).
    fn random_action(&self, s: &Self::State, seat: Seat, rng: &mut Stream) -> Action {
        let mut all = Short::default();
        self.legal(s, seat, &mut all);
        if all.0.is_empty() { 0 } else { all.0[rng.below(all.0.len())] }
    }
    /// Adds the outcomes of a chance node with their weights to `_out`. Default: none.
    fn chance(&self, _s: &Self::State, _out: &mut Outcomes) {}
    /// Applies a joint action: one id per seat, in seat order, with any id for seats that do not act. Default: no
    /// change, for games without simultaneous moves.
    fn play_together_unchecked(&self, _s: &mut Self::State, _joint: &[Action]) {}
    /// Applies a joint move of actions and documents: one entry per seat, `None` for seats that do not act. Default:
    /// [`play_together_unchecked`](GameMoves::play_together_unchecked) with the ids; documents count as id 0.
    fn play_joint_unchecked(&self, s: &mut Self::State, joint: &[Option<ParsedMove>]) {
        let id = |heard: &Option<ParsedMove>| if let Some(ParsedMove::Action(a)) = heard { *a } else { 0 };
        let ids: SmallVec<[Action; 16]> = joint.iter().map(id).collect();
        self.play_together_unchecked(s, &ids);
    }
    /// Parses a submission of `seat`. The submission is either a document that fits the schema of the turn (see
    /// [`Facts::document_schemas`](super::Facts::document_schemas)) or an utterance: a JSON string that names no
    /// action. Default: refuses everything.
    ///
    /// # Errors
    /// Returns all issues, each with a path and a code that the game's page explains. [`Issue::unparsed`] reports an
    /// utterance that contains no move.
    fn parse_document(&self, _s: &Self::State, _seat: Seat, document: &Value) -> Result<ParsedMove, Vec<Issue>> {
        let message = format!("{} does not accept documents", Self::INFO.id);
        Err(vec![Issue::new("", document, "an action id, or its text", message)])
    }
    /// Samples a document that [`parse_document`](GameMoves::parse_document) accepts from `seat`, which acts now.
    /// Repeated sampling must cover every clause of the schema. Default: `None`.
    fn sample(&self, _s: &Self::State, _seat: Seat, _rng: &mut Stream) -> Option<Value> {
        None
    }
    /// Applies a document that [`parse_document`](GameMoves::parse_document) returned as [`ParsedMove::Document`].
    /// Default: no change.
    fn play_document(&self, _s: &mut Self::State, _seat: Seat, _document: &Value) {}
    /// Returns the default move, for games whose default move needs no randomness. Default: the first legal action.
    fn default_action(&self, s: &Self::State, seat: Seat) -> Action {
        let mut first = Nth { left: 0, kept: None };
        self.legal(s, seat, &mut first);
        first.kept.unwrap_or(0)
    }
    /// Returns the legal move that the policy `default` plays for a seat whose attempts were all refused. `_rng` is the
    /// stream of the policy `random`. Default: [`default_action`](GameMoves::default_action).
    fn default_move(&self, s: &Self::State, seat: Seat, _rng: &mut Stream) -> ParsedMove {
        ParsedMove::Action(self.default_action(s, seat))
    }
}
