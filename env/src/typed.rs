//! Type-erased objects for the states and views of any typed game.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use ludex_protocol::error::Issue;
use ludex_protocol::record::{Record, RefusedMove};
use ludex_protocol::spec::{Spec, TensorSpec};
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde_json::Value;

use crate::documents::{Schemas, cap_issues, last_object};
use crate::draw::Stream;
use crate::dyn_state::{DynState, DynView};
use crate::game::{Action, CompleteGame, EventView, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use crate::missed_wins;
use crate::picture::{Gesture, Picture};

/// A game and its spec, shared by its states and views.
pub(crate) struct Loaded<G: CompleteGame> {
    pub(crate) game: G,
    pub(crate) spec: Spec,
    pub(crate) schemas: Schemas,
}

struct TypedState<G: CompleteGame> {
    of: Arc<Loaded<G>>,
    state: G::State,
}

struct TypedView<G: CompleteGame> {
    of: Arc<Loaded<G>>,
    view: G::View,
}

/// Boxes a view of the game `of`.
pub(crate) fn seeing<G: CompleteGame>(of: &Arc<Loaded<G>>, view: G::View) -> Box<dyn DynView> {
    Box::new(TypedView { of: of.clone(), view })
}

/// Boxes a state of the game `of`, for hosts that store typed states.
pub(crate) fn box_state<G: CompleteGame>(of: &Arc<Loaded<G>>, state: G::State) -> Box<dyn DynState> {
    Box::new(TypedState { of: of.clone(), state })
}

/// Creates the refusal of an illegal move.
fn refused(why: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::IllegalAction, why)
}

/// Creates the refusal of a move from `issues`, which must not be empty.
fn flawed(issues: Vec<Issue>) -> Refusal {
    let issues = cap_issues(issues);
    let first = issues.first();
    let code = if first.is_some_and(Issue::is_unparsed) { ErrorCode::Unparsed } else { ErrorCode::IllegalAction };
    let message = first.map_or("refused", |issue| issue.message.as_str());
    Refusal::new(code, message).issues(issues)
}

/// Returns the error message for a number outside the action ids of the game.
pub(crate) fn out_of_range(spec: &Spec, id: impl std::fmt::Display) -> String {
    format!("expected an action id of {} from 0 to {}, got {id}", spec.game, spec.actions.saturating_sub(1))
}

impl<G: CompleteGame> TypedState<G> {
    fn game(&self) -> &G {
        &self.of.game
    }

    fn illegal(&self, seat: Seat, a: Action) -> Refusal {
        let spec = &self.of.spec;
        if a >= spec.actions {
            return refused(out_of_range(spec, a));
        }
        refused(self.game().why_not(&self.state, seat, a))
    }

    fn acts(&self, seat: Seat) -> Result<(), Refusal> {
        if self.turn().seats().has(seat) {
            return Ok(());
        }
        Err(refused(match self.turn() {
            ToMove::Over => format!("seat {seat} cannot move: the episode has ended"),
            ToMove::Chance => format!("chance is to move, not seat {seat}"),
            ToMove::Seat(p) => format!("seat {p} is to move, not seat {seat}"),
            ToMove::Simultaneous(_) => format!("seat {seat} does not act in this joint move"),
        }))
    }

    /// Checks that the turn is simultaneous and that `joint` has exactly the required entries, all of them legal.
    fn check_joint<T>(
        &self,
        joint: &[Option<T>],
        good: impl Fn(Seat, &T) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let ToMove::Simultaneous(acting) = self.turn() else {
            return Err(refused("unexpected joint move: the turn is not simultaneous"));
        };
        let players = self.of.spec.players as usize;
        if joint.len() != players {
            return Err(refused(format!("joint move: expected {players} entries, got {}", joint.len())));
        }
        for (seat, entry) in joint.iter().enumerate() {
            match (acting.has(seat), entry) {
                (true, Some(entry)) => good(seat, entry)?,
                (true, None) => return Err(refused(format!("joint move: expected a move of seat {seat}, got none"))),
                (false, Some(_)) => return Err(refused(format!("joint move: unexpected move of seat {seat}"))),
                (false, None) => {}
            }
        }
        Ok(())
    }
}

impl<G: CompleteGame> DynState for TypedState<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn turn(&self) -> ToMove {
        self.game().to_move(&self.state)
    }

    fn legal(&self, seat: Seat, out: &mut Vec<Action>) {
        self.game().legal(&self.state, seat, out);
    }

    fn is_legal(&self, seat: Seat, a: Action) -> bool {
        self.game().is_legal(&self.state, seat, a)
    }

    fn mask(&self, seat: Seat, out: &mut [u8]) {
        self.game().mask(&self.state, seat, out);
    }

    fn chance(&self, out: &mut Outcomes) {
        out.clear();
        if self.turn() == ToMove::Chance {
            self.game().chance(&self.state, out);
        }
    }

    fn play(&mut self, seat: Seat, a: Action) -> Result<(), Refusal> {
        self.acts(seat)?;
        if let ToMove::Simultaneous(_) = self.turn() {
            return Err(refused(format!("expected a joint move, got a single move of seat {seat}")));
        }
        if !self.is_legal(seat, a) {
            return Err(self.illegal(seat, a));
        }
        self.play_unchecked(a);
        Ok(())
    }

    fn play_chance(&mut self, a: Action) -> Result<(), Refusal> {
        let mut outcomes = Outcomes::new();
        self.chance(&mut outcomes);
        if self.turn() != ToMove::Chance {
            return Err(refused("unexpected chance outcome: chance is not to move"));
        }
        if !outcomes.items().iter().any(|&(o, _)| o == a) {
            return Err(refused(format!("expected an outcome of the chance node, got {a}")));
        }
        self.play_unchecked(a);
        Ok(())
    }

    fn play_together(&mut self, joint: &[Option<Action>]) -> Result<(), Refusal> {
        let mut ids = [0; 16];
        for (id, a) in ids.iter_mut().zip(joint) {
            *id = a.unwrap_or(0);
        }
        self.check_joint(joint, |seat, a| if self.is_legal(seat, *a) { Ok(()) } else { Err(self.illegal(seat, *a)) })?;
        self.play_together_unchecked(&ids[..joint.len()]);
        Ok(())
    }

    fn play_joint(&mut self, joint: &[Option<ParsedMove>]) -> Result<(), Refusal> {
        self.check_joint(joint, |seat, heard| match heard {
            ParsedMove::Action(a) if self.is_legal(seat, *a) => Ok(()),
            ParsedMove::Action(a) => Err(self.illegal(seat, *a)),
            ParsedMove::Document(document) => match self.parse_move(seat, &Move::Document(document.clone()))? {
                read if read == *heard => Ok(()),
                _ => Err(refused(format!("expected a document of seat {seat} in canonical form"))),
            },
        })?;
        self.play_joint_unchecked(joint);
        Ok(())
    }

    fn play_joint_unchecked(&mut self, joint: &[Option<ParsedMove>]) {
        self.of.game.play_joint_unchecked(&mut self.state, joint);
    }

    fn play_unchecked(&mut self, a: Action) {
        self.of.game.play_unchecked(&mut self.state, a);
    }

    fn play_together_unchecked(&mut self, joint: &[Action]) {
        self.of.game.play_together_unchecked(&mut self.state, joint);
    }

    fn parse_move(&self, seat: Seat, given: &Move) -> Result<ParsedMove, Refusal> {
        self.acts(seat)?;
        let document = match given {
            Move::Id(id) => {
                return match Action::try_from(*id) {
                    Ok(a) if self.is_legal(seat, a) => Ok(ParsedMove::Action(a)),
                    Ok(a) => Err(self.illegal(seat, a)),
                    Err(_) => Err(refused(out_of_range(&self.of.spec, id))),
                };
            }
            Move::Text(text) => {
                let view = self.game().view(&self.state, Viewer::Seat(seat));
                let mut legal = Vec::new();
                self.legal(seat, &mut legal);
                if let Some(a) = self.game().parse(&view, seat, &legal, text) {
                    return Ok(ParsedMove::Action(a));
                }
                if self.schema(seat).is_none() {
                    let all: Vec<Action> = (0..self.of.spec.actions).collect();
                    let named = self.game().parse(&view, seat, &all, text).is_some();
                    let code = if named { ErrorCode::IllegalAction } else { ErrorCode::Unparsed };
                    return Err(Refusal::new(code, self.game().why_not_text(&self.state, seat, text)));
                }
                let found = last_object(text).map_err(|issue| refused(issue.message.clone()).issues(vec![issue]))?;
                Cow::Owned(found.unwrap_or_else(|| Value::from(text.as_str())))
            }
            Move::Document(value) => Cow::Borrowed(value),
        };
        let flaws = match self.schema(seat) {
            Some(key) if !document.is_string() => self.of.schemas.check(key, &document),
            Some(_) => Vec::new(),
            None if self.of.spec.document_schemas.is_none() => Vec::new(),
            None => {
                let message = "documents are not accepted in this turn";
                vec![Issue::new("", &document, "an action id, or its text", message).code("not_now")]
            }
        };
        let heard =
            if flaws.is_empty() { self.game().parse_document(&self.state, seat, &document) } else { Err(flaws) };
        match heard.map_err(flawed)? {
            ParsedMove::Action(a) if !self.is_legal(seat, a) => Err(self.illegal(seat, a)),
            heard => Ok(heard),
        }
    }

    fn read_outcome(&self, given: &Move) -> Result<Action, Refusal> {
        let mut outcomes = Outcomes::new();
        self.chance(&mut outcomes);
        if self.turn() != ToMove::Chance {
            return Err(refused("unexpected chance outcome: chance is not to move"));
        }
        let named = |a: Action| match given {
            Move::Id(id) => *id == i64::from(a),
            Move::Text(text) => self.outcome_text(a).eq_ignore_ascii_case(text.trim()),
            Move::Document(_) => false,
        };
        let found = outcomes.items().iter().map(|o| o.0).find(|&a| named(a));
        found.ok_or_else(|| refused("expected the id or the text of an outcome of the chance node"))
    }

    fn play_document(&mut self, seat: Seat, document: &Value) -> Result<(), Refusal> {
        match self.parse_move(seat, &Move::Document(document.clone()))? {
            ParsedMove::Action(a) => self.play(seat, a),
            ParsedMove::Document(canonical) => {
                self.of.game.play_document(&mut self.state, seat, &canonical);
                Ok(())
            }
        }
    }

    fn returns(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.of.spec.players as usize];
        self.returns_into(&mut out);
        out
    }

    fn returns_into(&self, out: &mut [f64]) {
        self.game().returns(&self.state, out);
    }

    fn teams(&self) -> Option<Vec<usize>> {
        self.game().teams(&self.state)
    }

    fn marks(&self, joint: &[Option<ParsedMove>], after: &dyn DynState, out: &mut Marks) {
        let after: &TypedState<G> = after.as_any().downcast_ref().expect("a state of the same game");
        self.game().marks(&self.state, joint, &after.state, out);
        if missed_wins::fits(&self.of.spec) {
            missed_wins::count(self.game(), &self.state, &after.state, out);
        }
    }

    fn tried(&self, seat: Seat, tries: &[RefusedMove], out: &mut Marks) {
        self.game().refusal_marks(&self.state, seat, tries, out);
    }

    fn view(&self, who: Viewer) -> Box<dyn DynView> {
        seeing(&self.of, self.game().view(&self.state, who))
    }

    fn tensor(&self, who: Viewer, out: &mut [u8]) {
        self.game().tensor(&self.state, who, out);
    }

    fn info(&self, who: Viewer, out: &mut [u8]) {
        self.game().info(&self.state, who, out);
    }

    fn openspiel_tensor(&self, seat: Seat, out: &mut [f32]) {
        self.game().openspiel_tensor(&self.state, seat, out);
    }

    fn openspiel_spec(&self) -> Option<TensorSpec> {
        self.game().facts().openspiel
    }

    fn seen(&self, who: Viewer, by: Mover, a: Action) -> EventView {
        self.game().observe_action(&self.state, who, by, a)
    }

    fn observe_document(&self, who: Viewer, seat: Seat, document: &Value) -> EventView {
        self.game().observe_document(&self.state, who, seat, document)
    }

    fn reveals(&self, who: Viewer) -> Vec<(String, Value)> {
        self.game().reveals(&self.state, who)
    }

    fn in_notation(&self, record: &Record) -> Result<String, String> {
        self.game().in_notation(&self.state, record)
    }

    fn outcome_text(&self, a: Action) -> String {
        self.game().outcome_text(&self.state, a)
    }

    fn phase(&self) -> Option<&'static str> {
        self.game().phase(&self.state)
    }

    fn schema(&self, seat: Seat) -> Option<&str> {
        let (spec, phase) = (&self.of.spec, self.phase()?);
        let (schemas, name) = (spec.document_schemas.as_ref()?, spec.seats.get(seat)?);
        let found = schemas.get_key_value(&format!("{phase}/{name}")).or_else(|| schemas.get_key_value(phase));
        found.map(|(key, _)| key.as_str())
    }

    fn sample(&self, seat: Seat, rng: &mut Stream) -> Option<Value> {
        self.game().sample(&self.state, seat, rng)
    }

    fn default_move(&self, seat: Seat, rng: &mut Stream) -> ParsedMove {
        self.game().default_move(&self.state, seat, rng)
    }

    fn evaluate(&self, seat: Seat) -> Option<f64> {
        self.game().evaluate(&self.state, seat)
    }

    fn promising(&self, seat: Seat, out: &mut Vec<Action>) -> usize {
        self.game().search_moves(&self.state, seat, out)
    }

    fn noisy(&self, seat: Seat, out: &mut Vec<Action>) -> bool {
        self.game().quiescence_moves(&self.state, seat, out)
    }

    fn hash(&self) -> Option<u64> {
        self.game().hash(&self.state)
    }

    fn random_action(&self, seat: Seat, rng: &mut Stream) -> Action {
        self.game().random_action(&self.state, seat, rng)
    }

    fn rollout(&mut self, rng: &mut Stream, limit: usize) -> usize {
        let game = &self.of.game;
        let s = &mut self.state;
        let mut outcomes = Outcomes::new();
        for played in 0..limit {
            match game.to_move(s) {
                ToMove::Over => return played,
                ToMove::Seat(seat) => game.play_unchecked(s, game.random_action(s, seat, rng)),
                ToMove::Chance => {
                    outcomes.clear();
                    game.chance(s, &mut outcomes);
                    let a = rng.pick(&outcomes).unwrap_or(0);
                    game.play_unchecked(s, a);
                }
                ToMove::Simultaneous(set) => {
                    let mut joint = [0; 16];
                    for seat in set.iter() {
                        joint[seat] = game.random_action(s, seat, rng);
                    }
                    game.play_together_unchecked(s, &joint[..self.of.spec.players as usize]);
                }
            }
        }
        limit
    }

    fn boxed(&self) -> Box<dyn DynState> {
        box_state(&self.of, self.state.clone())
    }

    fn copy_from(&mut self, other: &dyn DynState) {
        let other: &TypedState<G> = other.as_any().downcast_ref().expect("a state of the same game");
        self.state.clone_from(&other.state);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<G: CompleteGame> DynView for TypedView<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn value(&self) -> Value {
        serde_json::to_value(&self.view).unwrap_or(Value::Null)
    }

    fn text(&self) -> String {
        self.of.game.text(&self.view)
    }

    fn action_text(&self, seat: Seat, a: Action) -> String {
        self.of.game.action_text(&self.view, seat, a)
    }

    fn drawing(&self, from: Viewer) -> String {
        self.of.game.drawing(&self.view, from)
    }

    fn picture(&self, from: Viewer) -> Picture {
        self.of.game.picture(&self.view, from)
    }

    fn gesture(&self, seat: Seat, a: Action) -> Option<Gesture> {
        self.of.game.gesture(&self.view, seat, a)
    }

    fn gloss(&self, seat: Seat, a: Action) -> String {
        self.of.game.gloss(&self.view, seat, a)
    }

    fn parse(&self, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        self.of.game.parse(&self.view, seat, legal, text)
    }

    fn world(&self, rng: &mut Stream) -> Box<dyn DynState> {
        box_state(&self.of, self.of.game.sample_world(&self.view, rng))
    }

    fn boxed(&self) -> Box<dyn DynView> {
        seeing(&self.of, self.view.clone())
    }

    fn as_any(&self) -> &dyn Any {
        &self.view
    }
}
