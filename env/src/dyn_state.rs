//! States and views with their game type erased, as used by hosts, agents and the referee.
//!
//! The typed core is [`Game`](crate::Game); `typed.rs` implements these traits for the states and views of any game.

use std::any::Any;

use ludex_protocol::record::{Record, RefusedMove};
use ludex_protocol::spec::{Spec, TensorSpec};
use ludex_protocol::{Move, Refusal};
use serde_json::Value;

use crate::draw::Stream;
use crate::game::{Action, EventView, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use crate::picture::{Gesture, Picture};

/// A position of a game. Moves are checked unless the method name says otherwise.
pub trait DynState: Send + Sync {
    /// Returns the spec of the game.
    fn spec(&self) -> &Spec;
    /// Returns the party that moves next.
    fn turn(&self) -> ToMove;
    /// Appends the legal actions of `seat`, in ascending order.
    fn legal(&self, seat: Seat, out: &mut Vec<Action>);
    /// Returns the legal actions of `seat` as a new list, in ascending order.
    fn legal_list(&self, seat: Seat) -> Vec<Action> {
        let mut out = Vec::new();
        self.legal(seat, &mut out);
        out
    }
    /// Returns true if `a` is legal for `seat` now.
    fn is_legal(&self, seat: Seat, a: Action) -> bool;
    /// Writes the legal actions of `seat` as ones and zeros, one byte per action id.
    fn mask(&self, seat: Seat, out: &mut [u8]);
    /// Replaces the contents of `out` with the outcomes of a chance node; empty at all other nodes.
    fn chance(&self, out: &mut Outcomes);
    /// Plays an action of the seat to move.
    ///
    /// # Errors
    /// Fails if the seat is not to move or the action is illegal; the state is unchanged.
    fn play(&mut self, seat: Seat, a: Action) -> Result<(), Refusal>;
    /// Plays a chance outcome.
    ///
    /// # Errors
    /// Fails if chance is not to move or the outcome is invalid; the state is unchanged.
    fn play_chance(&mut self, a: Action) -> Result<(), Refusal>;
    /// Plays a joint move: one entry per seat, `None` for seats that do not act.
    ///
    /// # Errors
    /// Fails if the action of an acting seat is missing or illegal, or if a seat that does not act has an action. The
    /// state is unchanged.
    fn play_together(&mut self, joint: &[Option<Action>]) -> Result<(), Refusal>;
    /// Plays an action without checks. Memory-safe for every id in range.
    fn play_unchecked(&mut self, a: Action);
    /// Plays a joint move without checks, with any id for seats that do not act.
    fn play_together_unchecked(&mut self, joint: &[Action]);
    /// Plays a joint move of actions and canonical documents: one entry per seat, `None` for seats that do not act.
    ///
    /// # Errors
    /// Fails if the move of an acting seat is missing or refused, or if a seat that does not act has a move. The state
    /// is unchanged.
    fn play_joint(&mut self, joint: &[Option<ParsedMove>]) -> Result<(), Refusal>;
    /// Plays, without checks, a joint move of values that [`DynState::parse_move`] returned.
    fn play_joint_unchecked(&mut self, joint: &[Option<ParsedMove>]);
    /// Parses a submitted move of `seat` into an action id or a canonical document, without playing it.
    ///
    /// # Errors
    /// Fails with `illegal_action` if the seat does not act or the move is illegal, and with `unparsed` if the text
    /// contains no move.
    fn parse_move(&self, seat: Seat, given: &Move) -> Result<ParsedMove, Refusal>;
    /// Parses a chance outcome, given by id or text, without playing it.
    ///
    /// # Errors
    /// Fails if chance is not to move or the outcome is invalid.
    fn read_outcome(&self, given: &Move) -> Result<Action, Refusal>;
    /// Plays a canonical document of the seat to move.
    ///
    /// # Errors
    /// Fails for documents that [`DynState::parse_move`] refuses.
    fn play_document(&mut self, seat: Seat, document: &Value) -> Result<(), Refusal>;
    /// Returns the sum of rewards so far, per seat.
    fn returns(&self) -> Vec<f64>;
    /// Writes the sum of rewards so far into `out`, one element per seat.
    fn returns_into(&self, out: &mut [f64]);
    /// Returns the team number of each seat; see [`GameMarks::teams`](crate::game::GameMarks::teams).
    fn teams(&self) -> Option<Vec<usize>>;
    /// Emits the marks of the step from this state to `after`; see [`GameMarks::marks`](crate::game::GameMarks::marks).
    ///
    /// # Panics
    /// Panics if `after` is not a state of the same game.
    fn marks(&self, joint: &[Option<ParsedMove>], after: &dyn DynState, out: &mut Marks);
    /// Emits the marks of refused attempts of `seat` in this state; see
    /// [`GameMarks::refusal_marks`](crate::game::GameMarks::refusal_marks).
    fn tried(&self, seat: Seat, tries: &[RefusedMove], out: &mut Marks);
    /// Returns everything that `who` knows.
    fn view(&self, who: Viewer) -> Box<dyn DynView>;
    /// Writes the observation array of `who` into `out`, which has the size declared in the spec.
    fn tensor(&self, who: Viewer, out: &mut [u8]);
    /// Writes the perfect-recall array of `who` into `out`, which has the size declared in the spec.
    fn info(&self, who: Viewer, out: &mut [u8]);
    /// Writes the observation in OpenSpiel's layout; zeros if the game does not have that layout.
    fn openspiel_tensor(&self, seat: Seat, out: &mut [f32]);
    /// Returns the shape of OpenSpiel's layout; `None` if the game does not have that layout.
    fn openspiel_spec(&self) -> Option<TensorSpec>;
    /// Returns the information that `who` gets when `by` plays `a` in this state.
    fn seen(&self, who: Viewer, by: Mover, a: Action) -> EventView;
    /// Returns the information that `who` gets when `seat` submits `document` in this state.
    fn observe_document(&self, who: Viewer, seat: Seat, document: &Value) -> EventView;
    /// Returns the information revealed to `who` in this state.
    fn reveals(&self, who: Viewer) -> Vec<(String, Value)>;
    /// Converts a record that ends in this state to the game's notation; see
    /// [`GameText::in_notation`](crate::game::GameText::in_notation).
    ///
    /// # Errors
    /// Fails if the game has no notation, or on content that the notation cannot express.
    fn in_notation(&self, record: &Record) -> Result<String, String>;
    /// Returns the name of a chance outcome.
    fn outcome_text(&self, a: Action) -> String;
    /// Returns the name of the current phase, in games with several phases.
    fn phase(&self) -> Option<&'static str>;
    /// Returns a key in the spec's `document_schemas`, which names the JSON Schema for documents of `seat` in this
    /// state; `None` if documents are not accepted.
    fn schema(&self, seat: Seat) -> Option<&str>;
    /// Samples a document that `seat`, which acts now, may play; `None` if the game samples none.
    fn sample(&self, seat: Seat, rng: &mut Stream) -> Option<Value>;
    /// Returns the move of the policy `default`; see [`GameMoves::default_move`](crate::game::GameMoves::default_move).
    fn default_move(&self, seat: Seat, rng: &mut Stream) -> ParsedMove;
    /// Returns a heuristic estimate of `seat`'s return; `None` if the game has no heuristic.
    fn evaluate(&self, seat: Seat) -> Option<f64>;
    /// Appends the actions that search should examine, best first, and returns the length of the prefix with fixed
    /// order. See [`GameSearch::search_moves`](crate::game::GameSearch::search_moves).
    fn promising(&self, seat: Seat, out: &mut Vec<Action>) -> usize;
    /// Appends the quiescence moves and returns true if the seat may also decline them. See
    /// [`GameSearch::quiescence_moves`](crate::game::GameSearch::quiescence_moves).
    fn noisy(&self, seat: Seat, out: &mut Vec<Action>) -> bool;
    /// Returns a hash for transposition tables; `None` if the game provides no hash.
    fn hash(&self) -> Option<u64>;
    /// Returns a random legal action of `seat`, which must act now.
    fn random_action(&self, seat: Seat, rng: &mut Stream) -> Action;
    /// Plays random moves, and chance outcomes drawn by weight, until the end or for `limit` moves and outcomes.
    /// Returns the number of moves and outcomes played.
    fn rollout(&mut self, rng: &mut Stream, limit: usize) -> usize;
    /// Returns a boxed copy of the state.
    fn boxed(&self) -> Box<dyn DynState>;
    /// Copies `other` into this state, without allocating if the state owns no heap memory.
    ///
    /// # Panics
    /// Panics if `other` is not a state of the same game.
    fn copy_from(&mut self, other: &dyn DynState);
    /// Returns the typed state, for [`DynState::copy_from`].
    fn as_any(&self) -> &dyn Any;
}

/// The knowledge of one viewer about a position of a game.
pub trait DynView: Send + Sync {
    /// Returns the spec of the game.
    fn spec(&self) -> &Spec;
    /// Returns the serialized view: the field `struct` on the wire.
    fn value(&self) -> Value;
    /// Returns the view as text.
    fn text(&self) -> String;
    /// Returns the name of an action of `seat`.
    fn action_text(&self, seat: Seat, a: Action) -> String;
    /// Returns the terminal display; see [`GameDisplay::drawing`](crate::game::GameDisplay::drawing).
    fn drawing(&self, from: Viewer) -> String;
    /// Returns the picture; see [`GameDisplay::picture`](crate::game::GameDisplay::picture).
    fn picture(&self, from: Viewer) -> Picture;
    /// Returns the gesture of an action; see [`GameDisplay::gesture`](crate::game::GameDisplay::gesture).
    fn gesture(&self, seat: Seat, a: Action) -> Option<Gesture>;
    /// Returns the explanation of an action; see [`GameDisplay::gloss`](crate::game::GameDisplay::gloss).
    fn gloss(&self, seat: Seat, a: Action) -> String;
    /// Returns the action in `legal` that `text` names.
    fn parse(&self, seat: Seat, legal: &[Action], text: &str) -> Option<Action>;
    /// Samples a full state that the owner of the view cannot distinguish from the true state.
    fn world(&self, rng: &mut Stream) -> Box<dyn DynState>;
    /// Returns a boxed copy of the view.
    fn boxed(&self) -> Box<dyn DynView>;
    /// Returns the game's own [`View`](crate::Game::View), for bots of that game.
    fn as_any(&self) -> &dyn Any;
}
