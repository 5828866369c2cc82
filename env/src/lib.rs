//! The core of Ludex: the interface that games implement, and everything that is derived from a game's rules.
//!
//! Each game implements the typed trait [`Game`] (parameters, states and rules) and the other traits in [`game`]. Hosts
//! use type-erased interfaces: [`DynGame`] for the game, [`DynState`] for a position, [`DynView`] for the knowledge of
//! one viewer, [`DynBatch`] for many environments stepped together. [`Games`] loads games by name, [`recording`] writes
//! records and plays them again, and [`check`] contains the laws that every game must satisfy. This crate contains no
//! games; `ludex-games` does.
//!
//! ```
//! use ludex_env::game::{
//!     Action, ActionSink, Facts, Game, GameDisplay, GameInfo, GameMarks, GameMoves, GameObservation, GameSearch,
//!     GameText, Seat, ToMove, Viewer,
//! };
//! use ludex_env::{Games, ParamError, RegisteredGame, Stream, check};
//! use ludex_protocol::spec::{ChanceMode, Dynamics, Information, LegalForm, RewardModel, Utility};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// Two seats alternately take one or two objects; the seat that takes the last object wins.
//! struct Countdown(Params);
//!
//! #[derive(Clone, Serialize, Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields, default)]
//! struct Params {
//!     /// Objects at the start, 1 to 99.
//!     objects: u32,
//! }
//!
//! impl Default for Params {
//!     fn default() -> Self {
//!         Params { objects: 10 }
//!     }
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
//! struct Position {
//!     left: u32,
//!     seat: Seat,
//! }
//!
//! impl Game for Countdown {
//!     type Params = Params;
//!     type State = Position;
//!     type View = Position;
//!
//!     const INFO: GameInfo = GameInfo::new("countdown", "Countdown", "# Countdown\n");
//!
//!     fn new(params: Params) -> Result<Self, ParamError> {
//!         match params.objects {
//!             1..=99 => Ok(Countdown(params)),
//!             n => Err(ParamError::value("objects", n, "1 to 99")),
//!         }
//!     }
//!
//!     fn params(&self) -> &Params {
//!         &self.0
//!     }
//!
//!     fn facts(&self) -> Facts {
//!         Facts {
//!             seats: vec!["first".into(), "second".into()],
//!             dynamics: Dynamics::Sequential,
//!             chance: ChanceMode::Deterministic,
//!             information: Information::Perfect,
//!             utility: Utility::ZeroSum,
//!             rewards: RewardModel::Terminal,
//!             returns: [-1.0, 1.0],
//!             max_length: self.0.objects,
//!             actions: 2,
//!             max_chance: 0,
//!             legal: LegalForm::Ids,
//!             tensor: None,
//!             info: None,
//!             openspiel: None,
//!             document_schemas: None,
//!         }
//!     }
//!
//!     fn start(&self) -> Position {
//!         Position { left: self.0.objects, seat: 0 }
//!     }
//!
//!     fn to_move(&self, s: &Position) -> ToMove {
//!         if s.left == 0 { ToMove::Over } else { ToMove::Seat(s.seat) }
//!     }
//!
//!     fn legal(&self, s: &Position, seat: Seat, out: &mut impl ActionSink) {
//!         if self.to_move(s) == ToMove::Seat(seat) {
//!             (0..s.left.min(2)).for_each(|a| out.put(a));
//!         }
//!     }
//!
//!     fn play_unchecked(&self, s: &mut Position, a: Action) {
//!         s.left = s.left.saturating_sub(a + 1);
//!         s.seat = 1 - s.seat;
//!     }
//!
//!     fn returns(&self, s: &Position, out: &mut [f64]) {
//!         out.fill(0.0);
//!         if s.left == 0 {
//!             (out[s.seat], out[1 - s.seat]) = (-1.0, 1.0);
//!         }
//!     }
//!
//!     fn view(&self, s: &Position, _who: Viewer) -> Position {
//!         s.clone()
//!     }
//!
//!     fn sample_world(&self, view: &Position, _rng: &mut Stream) -> Position {
//!         // A view may come from a client, with any numbers.
//!         Position { left: view.left.min(self.0.objects), seat: view.seat & 1 }
//!     }
//! }
//!
//! impl GameText for Countdown {
//!     fn text(&self, view: &Position) -> String {
//!         format!("{} left; seat {}", view.left, view.seat)
//!     }
//!
//!     fn action_text(&self, _view: &Position, _seat: Seat, a: Action) -> String {
//!         format!("take {}", a + 1)
//!     }
//! }
//!
//! impl GameMoves for Countdown {}
//! impl GameObservation for Countdown {}
//! impl GameDisplay for Countdown {}
//! impl GameSearch for Countdown {}
//! impl GameMarks for Countdown {}
//!
//! let games: Games = [RegisteredGame::of::<Countdown>()].into_iter().collect();
//! let game = games.load("countdown(objects=3)").unwrap();
//! let mut state = game.start();
//! state.play(0, 1).unwrap();
//! assert_eq!((state.turn(), state.legal_list(1)), (ToMove::Seat(1), vec![0]));
//! check::game(&game, 0..10).unwrap();
//! ```
//!
//! # Guarantees
//! - This crate contains no unsafe code, does not access files, the network or the clock, and starts no threads.
//! - Chance is a function of game, seed and episode number ([`draw`]), so every outcome is reproducible. States contain
//!   no random generator.
//! - Everything displayed to a seat derives from that seat's view. Information outside the view cannot leak.
//! - A refused move or call changes nothing. Moves are checked unless the function's name says otherwise; an unchecked
//!   move with any id in range is memory-safe.
//! - A row of a batch behaves like a single environment with the row's seed.
//!
//! See `docs/adding-a-game.md` for how to add a game, to `ludex-games` or to your own program.
#![forbid(unsafe_code)]

pub mod anchor_ladder;
pub mod batch;
pub mod budget;
pub mod check;
pub mod documents;
pub mod draw;
mod dyn_game;
pub mod dyn_state;
pub mod game;
pub mod marks;
pub mod message_views;
mod missed_wins;
pub mod notation;
mod outcomes;
pub mod params;
pub mod picture;
pub mod playthrough;
pub mod policy;
pub mod recording;
pub mod registry;
pub mod svg;
pub mod tensor;
mod typed;

pub use batch::{Actions, BatchConfig, DynBatch, Episode, ResetSeeds};
pub use budget::{Budget, Scheduler, Stopped};
pub use draw::{Draw, Stream};
pub use dyn_game::{DynGame, GameRef};
pub use dyn_state::{DynState, DynView};
pub use game::{
    Action, ActionSink, Alias, EventView, Facts, Game, Mark, MarkDoc, MarkValue, Marks, Mover, Outcomes, ParsedMove,
    Seat, SeatSet, ToMove, Unit, Viewer,
};
pub use ludex_protocol::error::Issue;
pub use ludex_protocol::{Move, Refusal};
pub use params::ParamError;
pub use picture::{Gesture, Picture};
pub use policy::{AgentKey, Journal, MoveRequest, ObservedMove, Policy, PriorAttempt, Shelf};
pub use registry::{Games, RegisteredGame};
