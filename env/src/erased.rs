//! Games, states and views without their types: what hosts, agents and the referee hold.
//!
//! The core is typed ([`Game`]); one blanket implementation here turns any game into these objects.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use ludex_protocol::spec::{Spec, TensorSpec};

use crate::batch::{Batch, BatchConfig, BatchError, DynBatch};
use crate::draw::Stream;
use crate::game::{Action, Game, Heard, Issue, Mover, Outcomes, Seat, Seen, Turn, Unit, Viewer};

/// A game with its parameters fixed.
pub trait DynGame: Send + Sync {
    /// Everything it tells about itself (without the rules page).
    fn spec(&self) -> &Spec;
    /// Its page: rules, actions, observation table, presets, version history (Markdown).
    fn page(&self) -> &'static str;
    /// The id as a static string, as seeds need it.
    fn id(&self) -> &'static str;
    /// What two agents of the ladder are compared by.
    fn unit(&self) -> Unit;
    /// The first position.
    fn start(&self) -> Box<dyn DynState>;
    /// A view from its serde form, as a remote agent receives it.
    ///
    /// # Errors
    /// What does not fit, in serde's words.
    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String>;
    /// The answer to a question about the rules, as [`Game::analyze`] gives it.
    ///
    /// # Errors
    /// What is wrong with the question.
    fn analyze(&self, question: &Value) -> Result<Value, String>;
    /// A batch of environments.
    ///
    /// # Errors
    /// Settings that do not fit the game.
    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, BatchError>;
}

/// A shared game.
pub type GameRef = Arc<dyn DynGame>;

/// Why a move was refused; the state is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// One sentence, in the game's own words.
    pub message: String,
    /// Flaw by flaw, for proposals.
    pub issues: Vec<Issue>,
}

impl Refusal {
    fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), issues: Vec::new() }
    }
}

/// A move as it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// An id.
    Id(i64),
    /// Text: an action's name in any notation, or speech.
    Text(String),
    /// A document.
    Proposal(Value),
}

/// A position with its game. Moves are checked unless the name says otherwise.
pub trait DynState: Send + Sync {
    /// The spec of its game.
    fn spec(&self) -> &Spec;
    /// Who moves.
    fn turn(&self) -> Turn;
    /// Appends the legal actions of `seat`, ascending.
    fn legal(&self, seat: Seat, out: &mut Vec<Action>);
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
    /// What a given move is for `seat`: an action id or a canonical saying. Nothing is played.
    ///
    /// # Errors
    /// The seat does not act, or the move is illegal or not understood.
    fn read(&self, seat: Seat, given: &Given) -> Result<Heard, Refusal>;
    /// The chance outcome that `given` names, by id or by its text. Nothing is played.
    ///
    /// # Errors
    /// No chance node, or no such outcome.
    fn read_outcome(&self, given: &Given) -> Result<Action, Refusal>;
    /// Plays a canonical saying of the seat to move.
    ///
    /// # Errors
    /// What [`DynState::read`] refuses.
    fn play_said(&mut self, seat: Seat, said: &Value) -> Result<(), Refusal>;
    /// Sum of rewards so far, per seat.
    fn returns(&self) -> Vec<f64>;
    /// Sum of rewards so far into `out`, one place per seat.
    fn returns_into(&self, out: &mut [f64]);
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
    fn seen(&self, who: Viewer, by: Mover, a: Action) -> Seen;
    /// What `who` learns when `seat` says `said` here.
    fn seen_said(&self, who: Viewer, seat: Seat, said: &Value) -> Seen;
    /// What is laid open to `who` in this position.
    fn reveals(&self, who: Viewer) -> Vec<(String, Value)>;
    /// The name of a chance outcome.
    fn outcome_text(&self, a: Action) -> String;
    /// The phase, for games that have several.
    fn phase(&self) -> Option<&'static str>;
    /// The move of the policy `default`.
    fn default_action(&self, seat: Seat) -> Action;
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
    /// The action that `text` names, among `legal`.
    fn parse(&self, seat: Seat, legal: &[Action], text: &str) -> Option<Action>;
    /// A full state that the view's owner cannot tell from the true one.
    fn world(&self, rng: &mut Stream) -> Box<dyn DynState>;
    /// A copy.
    fn boxed(&self) -> Box<dyn DynView>;
    /// The game's own [`View`](Game::View), for bots of that game.
    fn as_any(&self) -> &dyn Any;
}

/// A game and its spec, shared by its states and views.
pub(crate) struct Loaded<G: Game> {
    pub(crate) game: G,
    pub(crate) spec: Spec,
}

/// The erased form of a typed game.
pub(crate) struct Shared<G: Game>(pub(crate) Arc<Loaded<G>>);

struct Held<G: Game> {
    of: Arc<Loaded<G>>,
    state: G::State,
}

struct Seeing<G: Game> {
    of: Arc<Loaded<G>>,
    view: G::View,
}

impl<G: Game> DynGame for Shared<G> {
    fn spec(&self) -> &Spec {
        &self.0.spec
    }

    fn page(&self) -> &'static str {
        G::PAGE
    }

    fn id(&self) -> &'static str {
        G::ID
    }

    fn unit(&self) -> Unit {
        G::UNIT
    }

    fn start(&self) -> Box<dyn DynState> {
        Box::new(Held { of: self.0.clone(), state: self.0.game.start() })
    }

    fn read_view(&self, value: &Value) -> Result<Box<dyn DynView>, String> {
        let view = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
        Ok(Box::new(Seeing { of: self.0.clone(), view }))
    }

    fn analyze(&self, question: &Value) -> Result<Value, String> {
        self.0.game.analyze(question)
    }

    fn batch(&self, config: BatchConfig) -> Result<Box<dyn DynBatch>, BatchError> {
        Ok(Box::new(Batch::new(self.0.clone(), config)?))
    }
}

/// A state of `of` as an object, for hosts that keep typed states.
pub(crate) fn held<G: Game>(of: &Arc<Loaded<G>>, state: G::State) -> Box<dyn DynState> {
    Box::new(Held { of: of.clone(), state })
}

impl<G: Game> Held<G> {
    fn game(&self) -> &G {
        &self.of.game
    }

    fn illegal(&self, seat: Seat, a: Action) -> Refusal {
        let spec = &self.of.spec;
        if a >= spec.actions {
            return Refusal::new(format!("{a} is no action of {} (0..{})", G::ID, spec.actions));
        }
        Refusal::new(self.game().why_not(&self.state, seat, a))
    }

    fn acts(&self, seat: Seat) -> Result<(), Refusal> {
        if self.turn().seats().has(seat) {
            return Ok(());
        }
        Err(Refusal::new(match self.turn() {
            Turn::Over => "the episode is over".to_owned(),
            Turn::Chance => "chance is to move".to_owned(),
            Turn::Seat(p) => format!("seat {p} is to move, not seat {seat}"),
            Turn::Together(_) => format!("seat {seat} does not act in this joint move"),
        }))
    }
}

impl<G: Game> DynState for Held<G> {
    fn spec(&self) -> &Spec {
        &self.of.spec
    }

    fn turn(&self) -> Turn {
        self.game().turn(&self.state)
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
        if self.turn() == Turn::Chance {
            self.game().chance(&self.state, out);
        }
    }

    fn play(&mut self, seat: Seat, a: Action) -> Result<(), Refusal> {
        self.acts(seat)?;
        if let Turn::Together(_) = self.turn() {
            return Err(Refusal::new("the seats move together here: a joint action is needed"));
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
        if self.turn() != Turn::Chance {
            return Err(Refusal::new("chance is not to move"));
        }
        if !outcomes.items().iter().any(|&(o, _)| o == a) {
            return Err(Refusal::new(format!("{a} is no outcome of this chance node")));
        }
        self.play_unchecked(a);
        Ok(())
    }

    fn play_together(&mut self, joint: &[Option<Action>]) -> Result<(), Refusal> {
        let Turn::Together(acting) = self.turn() else {
            return Err(Refusal::new("no joint move is due"));
        };
        let players = self.of.spec.players as usize;
        if joint.len() != players {
            return Err(Refusal::new(format!("a joint move has {players} entries, not {}", joint.len())));
        }
        let mut ids = [0; 16];
        for (seat, a) in joint.iter().enumerate() {
            match (acting.has(seat), a) {
                (true, Some(a)) if self.is_legal(seat, *a) => ids[seat] = *a,
                (true, Some(a)) => return Err(self.illegal(seat, *a)),
                (true, None) => return Err(Refusal::new(format!("seat {seat}'s action is missing"))),
                (false, Some(_)) => return Err(Refusal::new(format!("seat {seat} does not act"))),
                (false, None) => {}
            }
        }
        self.play_together_unchecked(&ids[..players]);
        Ok(())
    }

    fn play_unchecked(&mut self, a: Action) {
        self.of.game.play_unchecked(&mut self.state, a);
    }

    fn play_together_unchecked(&mut self, joint: &[Action]) {
        self.of.game.play_together_unchecked(&mut self.state, joint);
    }

    fn read(&self, seat: Seat, given: &Given) -> Result<Heard, Refusal> {
        self.acts(seat)?;
        let said = match given {
            Given::Id(id) => {
                return match Action::try_from(*id) {
                    Ok(a) if self.is_legal(seat, a) => Ok(Heard::Action(a)),
                    Ok(a) => Err(self.illegal(seat, a)),
                    Err(_) => {
                        Err(Refusal::new(format!("{id} is no action of {} (0..{})", G::ID, self.of.spec.actions)))
                    }
                };
            }
            Given::Text(text) => {
                let view = self.game().view(&self.state, Viewer::Seat(seat));
                let mut legal = Vec::new();
                self.legal(seat, &mut legal);
                if let Some(a) = self.game().parse(&view, seat, &legal, text) {
                    return Ok(Heard::Action(a));
                }
                if self.of.spec.proposals.is_none() {
                    return Err(Refusal::new(self.game().why_not_text(&self.state, seat, text)));
                }
                Value::from(text.as_str())
            }
            Given::Proposal(value) => value.clone(),
        };
        let heard = self.game().hear(&self.state, seat, &said).map_err(|issues| Refusal {
            message: issues.first().map_or("refused", |i| i.message.as_str()).to_owned(),
            issues,
        })?;
        match heard {
            Heard::Action(a) if !self.is_legal(seat, a) => Err(self.illegal(seat, a)),
            Heard::Said(_) if matches!(self.turn(), Turn::Together(_)) => {
                Err(Refusal::new("the seats move together here, by action ids"))
            }
            heard => Ok(heard),
        }
    }

    fn read_outcome(&self, given: &Given) -> Result<Action, Refusal> {
        let mut outcomes = Outcomes::new();
        self.chance(&mut outcomes);
        if self.turn() != Turn::Chance {
            return Err(Refusal::new("chance is not to move"));
        }
        let named = |a: Action| match given {
            Given::Id(id) => *id == i64::from(a),
            Given::Text(text) => self.outcome_text(a).eq_ignore_ascii_case(text.trim()),
            Given::Proposal(_) => false,
        };
        let found = outcomes.items().iter().map(|o| o.0).find(|&a| named(a));
        found.ok_or_else(|| Refusal::new("no such outcome at this chance node"))
    }

    fn play_said(&mut self, seat: Seat, said: &Value) -> Result<(), Refusal> {
        match self.read(seat, &Given::Proposal(said.clone()))? {
            Heard::Action(a) => self.play(seat, a),
            Heard::Said(canonical) => {
                self.of.game.play_said(&mut self.state, seat, &canonical);
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

    fn view(&self, who: Viewer) -> Box<dyn DynView> {
        Box::new(Seeing { of: self.of.clone(), view: self.game().view(&self.state, who) })
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

    fn seen(&self, who: Viewer, by: Mover, a: Action) -> Seen {
        self.game().seen(&self.state, who, by, a)
    }

    fn seen_said(&self, who: Viewer, seat: Seat, said: &Value) -> Seen {
        self.game().seen_said(&self.state, who, seat, said)
    }

    fn reveals(&self, who: Viewer) -> Vec<(String, Value)> {
        self.game().reveals(&self.state, who)
    }

    fn outcome_text(&self, a: Action) -> String {
        self.game().outcome_text(&self.state, a)
    }

    fn phase(&self) -> Option<&'static str> {
        self.game().phase(&self.state)
    }

    fn default_action(&self, seat: Seat) -> Action {
        self.game().default_action(&self.state, seat)
    }

    fn evaluate(&self, seat: Seat) -> Option<f64> {
        self.game().evaluate(&self.state, seat)
    }

    fn promising(&self, seat: Seat, out: &mut Vec<Action>) -> usize {
        self.game().promising(&self.state, seat, out)
    }

    fn noisy(&self, seat: Seat, out: &mut Vec<Action>) -> bool {
        self.game().noisy(&self.state, seat, out)
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
            match game.turn(s) {
                Turn::Over => return played,
                Turn::Seat(seat) => game.play_unchecked(s, game.random_action(s, seat, rng)),
                Turn::Chance => {
                    outcomes.clear();
                    game.chance(s, &mut outcomes);
                    let a = rng.pick(&outcomes).unwrap_or(0);
                    game.play_unchecked(s, a);
                }
                Turn::Together(set) => {
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
        Box::new(Held { of: self.of.clone(), state: self.state.clone() })
    }

    fn copy_from(&mut self, other: &dyn DynState) {
        let other: &Held<G> = other.as_any().downcast_ref().expect("a state of the same game");
        self.state.clone_from(&other.state);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<G: Game> DynView for Seeing<G> {
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

    fn parse(&self, seat: Seat, legal: &[Action], text: &str) -> Option<Action> {
        self.of.game.parse(&self.view, seat, legal, text)
    }

    fn world(&self, rng: &mut Stream) -> Box<dyn DynState> {
        held(&self.of, self.of.game.world(&self.view, rng))
    }

    fn boxed(&self) -> Box<dyn DynView> {
        Box::new(Seeing { of: self.of.clone(), view: self.view.clone() })
    }

    fn as_any(&self) -> &dyn Any {
        &self.view
    }
}

/// The legal actions of `seat` as a new list.
pub fn legal_list(s: &dyn DynState, seat: Seat) -> Vec<Action> {
    let mut out = Vec::new();
    s.legal(seat, &mut out);
    out
}
