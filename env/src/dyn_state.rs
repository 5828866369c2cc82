//! States and views without their types: what hosts, agents and the referee hold.
//!
//! The core is typed ([`Game`](crate::Game)); `typed.rs` turns the states and views of any game into these objects.

use std::any::Any;

use ludex_protocol::record::{Record, RefusedMove};
use ludex_protocol::spec::{Spec, TensorSpec};
use ludex_protocol::{Move, Refusal};
use serde_json::Value;

use crate::draw::Stream;
use crate::game::{Action, EventView, Marks, Mover, Outcomes, ParsedMove, Seat, ToMove, Viewer};
use crate::picture::{Gesture, Picture};

/// A position with its game. Moves are checked unless the name says otherwise.
pub trait DynState: Send + Sync {
    /// The spec of its game.
    fn spec(&self) -> &Spec;
    /// Who moves.
    fn turn(&self) -> ToMove;
    /// Appends the legal actions of `seat`, ascending.
    fn legal(&self, seat: Seat, out: &mut Vec<Action>);
    /// The legal actions of `seat`, ascending, as a new list.
    fn legal_list(&self, seat: Seat) -> Vec<Action> {
        let mut out = Vec::new();
        self.legal(seat, &mut out);
        out
    }
    /// Whether `a` is legal for `seat` now.
    fn is_legal(&self, seat: Seat, a: Action) -> bool;
    /// The legal actions of `seat` as a mask (`out` holds one byte per action id).
    fn mask(&self, seat: Seat, out: &mut [u8]);
    /// The outcomes at a chance node (none elsewhere); `out` is cleared first.
    fn chance(&self, out: &mut Outcomes);
    /// Plays an action of the seat to move.
    ///
    /// # Errors
    /// Not this seat's move, or not legal: the state is as it was.
    fn play(&mut self, seat: Seat, a: Action) -> Result<(), Refusal>;
    /// Plays a chance outcome.
    ///
    /// # Errors
    /// No chance node, or no such outcome: the state is as it was.
    fn play_chance(&mut self, a: Action) -> Result<(), Refusal>;
    /// Plays a joint move: one entry per seat, `None` for seats that do not act.
    ///
    /// # Errors
    /// An acting seat's action is missing or illegal, or another seat's is given: the state is as it was.
    fn play_together(&mut self, joint: &[Option<Action>]) -> Result<(), Refusal>;
    /// Plays without a check; any id in range is memory-safe.
    fn play_unchecked(&mut self, a: Action);
    /// Plays a joint move without a check; seats that do not act hold any id.
    fn play_together_unchecked(&mut self, joint: &[Action]);
    /// Plays a joint move of ids and canonical sayings: one entry per seat, `None` for seats that do not act.
    ///
    /// # Errors
    /// An acting seat's move is missing or refused, or another seat's is given: the state is as it was.
    fn play_joint(&mut self, joint: &[Option<ParsedMove>]) -> Result<(), Refusal>;
    /// Plays a joint move of ids and sayings that [`DynState::read`] gave, without a check.
    fn play_joint_unchecked(&mut self, joint: &[Option<ParsedMove>]);
    /// What a given move is for `seat`: an action id or a canonical saying. Nothing is played.
    ///
    /// # Errors
    /// `illegal_action`: the seat does not act, or the move is not legal. `unparsed`: a text in which there is no move.
    fn parse_move(&self, seat: Seat, given: &Move) -> Result<ParsedMove, Refusal>;
    /// The chance outcome that `given` names, by id or by its text. Nothing is played.
    ///
    /// # Errors
    /// No chance node, or no such outcome.
    fn read_outcome(&self, given: &Move) -> Result<Action, Refusal>;
    /// Plays a canonical saying of the seat to move.
    ///
    /// # Errors
    /// What [`DynState::read`] refuses.
    fn play_said(&mut self, seat: Seat, said: &Value) -> Result<(), Refusal>;
    /// Sum of rewards so far, per seat.
    fn returns(&self) -> Vec<f64>;
    /// Sum of rewards so far into `out`, one place per seat.
    fn returns_into(&self, out: &mut [f64]);
    /// The team of each seat, as [`Game::teams`](crate::Game::teams) tells it.
    fn teams(&self) -> Option<Vec<usize>>;
    /// What the rules count of the step from here to `after`, as [`Game::marks`](crate::Game::marks) tells it.
    ///
    /// # Panics
    /// If `after` belongs to another game.
    fn marks(&self, joint: &[Option<ParsedMove>], after: &dyn DynState, out: &mut Marks);
    /// What the rules count of the attempts of `seat` that were refused here, as [`Game::tried`](crate::Game::tried) tells it.
    fn tried(&self, seat: Seat, tries: &[RefusedMove], out: &mut Marks);
    /// What `who` knows.
    fn view(&self, who: Viewer) -> Box<dyn DynView>;
    /// The observation array of `who` into `out` (of the declared size).
    fn tensor(&self, who: Viewer, out: &mut [u8]);
    /// The perfect-recall array of `who` into `out` (of the declared size).
    fn info(&self, who: Viewer, out: &mut [u8]);
    /// The observation in OpenSpiel's layout, where the spec lists it.
    fn openspiel_tensor(&self, seat: Seat, out: &mut [f32]);
    /// Shape of OpenSpiel's layout, where the spec lists it.
    fn openspiel_spec(&self) -> Option<TensorSpec>;
    /// What `who` learns when `by` plays `a` here.
    fn seen(&self, who: Viewer, by: Mover, a: Action) -> EventView;
    /// What `who` learns when `seat` says `said` here.
    fn seen_said(&self, who: Viewer, seat: Seat, said: &Value) -> EventView;
    /// What is laid open to `who` in this position.
    fn reveals(&self, who: Viewer) -> Vec<(String, Value)>;
    /// A record that ends here in the game's notation, as [`Game::in_notation`](crate::Game::in_notation) writes it.
    ///
    /// # Errors
    /// A game without a notation, or what the notation cannot say.
    fn in_notation(&self, record: &Record) -> Result<String, String>;
    /// The name of a chance outcome.
    fn outcome_text(&self, a: Action) -> String;
    /// The phase, for games that have several.
    fn phase(&self) -> Option<&'static str>;
    /// Which of the spec's `proposals` a document of `seat` follows now; `None` where no documents are heard.
    fn schema(&self, seat: Seat) -> Option<&str>;
    /// A document that `seat`, which acts now, may play, where the game draws some.
    fn sample(&self, seat: Seat, rng: &mut Stream) -> Option<Value>;
    /// The move of the policy `default`, as [`Game::default_move`](crate::Game::default_move) gives it.
    fn default_move(&self, seat: Seat, rng: &mut Stream) -> ParsedMove;
    /// A guess at `seat`'s return, where the game gives one.
    fn evaluate(&self, seat: Seat) -> Option<f64>;
    /// What search should look at, best first, added to `out`; how many in front are to be taken in this very order.
    fn promising(&self, seat: Seat, out: &mut Vec<Action>) -> usize;
    /// What search follows beyond its horizon, added to `out`; whether the seat may also leave it at the evaluation.
    fn noisy(&self, seat: Seat, out: &mut Vec<Action>) -> bool;
    /// A hash for transposition tables, where the game gives one.
    fn hash(&self) -> Option<u64>;
    /// A random legal action of `seat`, which must act now.
    fn random_action(&self, seat: Seat, rng: &mut Stream) -> Action;
    /// Plays on at random (chance by its weights) until the end or for `limit` moves and chance outcomes; how many were played.
    fn rollout(&mut self, rng: &mut Stream, limit: usize) -> usize;
    /// A copy.
    fn boxed(&self) -> Box<dyn DynState>;
    /// Becomes equal to `other` without allocating where the state is flat.
    ///
    /// # Panics
    /// If `other` belongs to another game.
    fn copy_from(&mut self, other: &dyn DynState);
    /// For [`DynState::copy_from`].
    fn as_any(&self) -> &dyn Any;
}

/// What one viewer knows, with its game.
pub trait DynView: Send + Sync {
    /// The spec of its game.
    fn spec(&self) -> &Spec;
    /// The serde form: the `struct` on the wire.
    fn value(&self) -> Value;
    /// In words.
    fn text(&self) -> String;
    /// The name of an action of `seat`.
    fn action_text(&self, seat: Seat, a: Action) -> String;
    /// As [`Game::drawing`](crate::Game::drawing).
    fn drawing(&self, from: Viewer) -> String;
    /// As [`Game::picture`](crate::Game::picture).
    fn picture(&self, from: Viewer) -> Picture;
    /// As [`Game::gesture`](crate::Game::gesture).
    fn gesture(&self, seat: Seat, a: Action) -> Option<Gesture>;
    /// As [`Game::gloss`](crate::Game::gloss).
    fn gloss(&self, seat: Seat, a: Action) -> String;
    /// The action that `text` names, among `legal`.
    fn parse(&self, seat: Seat, legal: &[Action], text: &str) -> Option<Action>;
    /// A full state that the view's owner cannot tell from the true one.
    fn world(&self, rng: &mut Stream) -> Box<dyn DynState>;
    /// A copy.
    fn boxed(&self) -> Box<dyn DynView>;
    /// The game's own [`View`](crate::Game::View), for bots of that game.
    fn as_any(&self) -> &dyn Any;
}
