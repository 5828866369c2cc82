//! The traits that a game implements, and the types in their signatures.
//!
//! [`Game`] contains the rules. Each of the other traits covers one concern and has default methods:
//!
//! | trait | concern | required |
//! |---|---|---|
//! | [`Game`] | state, turns, legal actions, returns, views | everything |
//! | [`GameMoves`] | chance, joint moves, documents, faster queries of legal actions | nothing |
//! | [`GameText`] | names of actions, parsing, reasons of refusals | `text`, `action_text` |
//! | [`GameObservation`] | arrays, and what viewers learn from moves | nothing |
//! | [`GameDisplay`] | drawings and pictures for people | nothing |
//! | [`GameSearch`] | hints for search | nothing |
//! | [`GameMarks`] | counts for metrics, teams, queries | nothing |
//!
//! If the defaults suffice, write an empty implementation: `impl GameSearch for MyGame {}`. [`CompleteGame`] combines
//! all traits and is the trait bound for hosts.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::draw::Stream;
use crate::params::ParamError;

mod display;
mod info;
mod metrics;
mod moves;
mod observation;
mod search;
mod sinks;
mod text;
mod turns;

pub use crate::marks::{Mark, MarkDoc, MarkValue, Marks};
pub use crate::outcomes::{Action, Outcomes};
pub use display::GameDisplay;
pub use info::{Alias, Facts, GameInfo, PresetText, Unit};
pub use metrics::GameMarks;
pub use moves::GameMoves;
pub use observation::GameObservation;
pub use search::GameSearch;
pub use sinks::{ActionSink, Count, Find, MaskSink, Nth};
pub use text::GameText;
pub use turns::{EventView, Mover, ParsedMove, Seat, SeatSet, ToMove, Viewer};

/// The rules of a game with fixed parameters. Immutable; each position is a separate plain value of type
/// [`State`](Game::State). `docs/adding-a-game.md` is the step-by-step guide.
///
/// **Unchecked moves.** `play_unchecked` with any id in `0..actions` (in `0..max_chance` at a chance node) must be
/// memory-safe and must not panic. Legality is the caller's responsibility; hosts call the checked forms of
/// [`crate::DynState`].
pub trait Game: Sized + Send + Sync + 'static {
    /// Typed parameters, published as a JSON Schema. Must deny unknown fields.
    type Params: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// One position. Preferably `Copy`; holds no random generator and no clock.
    type State: Clone + Send + Sync + 'static;
    /// Complete knowledge of one viewer, with perfect recall. Every observation of that viewer derives from this value
    /// alone.
    type View: Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Identity, texts and ladder of the game.
    const INFO: GameInfo;

    /// Creates the game with these parameters.
    ///
    /// # Errors
    /// Fails with the name of the first parameter that is out of range.
    fn new(params: Self::Params) -> Result<Self, ParamError>;
    /// Returns the parameters of the game.
    fn params(&self) -> &Self::Params;
    /// Returns the properties of the game under its parameters.
    fn facts(&self) -> Facts;
    /// Returns the initial state.
    fn start(&self) -> Self::State;
    /// Returns the party that moves next.
    fn to_move(&self, s: &Self::State) -> ToMove;
    /// Adds the legal actions of `seat` to `out`, in ascending order; none if the seat does not move now.
    fn legal(&self, s: &Self::State, seat: Seat, out: &mut impl ActionSink);
    /// Applies an action of the seat to move, or a chance outcome. See "Unchecked moves" above.
    fn play_unchecked(&self, s: &mut Self::State, a: Action);
    /// Writes the sum of rewards so far into `out`, one element per seat.
    fn returns(&self, s: &Self::State, out: &mut [f64]);
    /// Returns everything that `who` knows.
    fn view(&self, s: &Self::State, who: Viewer) -> Self::View;
    /// Samples a full state that is consistent with `view`, from the prior distribution of chance alone. The owner of
    /// `view` must not be able to distinguish the sampled state from the true state.
    fn sample_world(&self, view: &Self::View, rng: &mut Stream) -> Self::State;
}

/// A game with all its traits. Implemented automatically.
pub trait CompleteGame: GameMoves + GameText + GameObservation + GameDisplay + GameSearch + GameMarks {}

impl<G: GameMoves + GameText + GameObservation + GameDisplay + GameSearch + GameMarks> CompleteGame for G {}
