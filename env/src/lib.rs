//! The rules of every Ludex game.
//!
//! Each game implements the typed trait [`Game`]: rules with parameters over plain states. Hosts use type-erased interfaces:
//! [`DynGame`] for the game, [`DynState`] for a position, [`DynView`] for the knowledge of one viewer, [`DynBatch`] for many
//! environments stepped together. [`Games`] loads games by name, [`history`] writes and replays records, and [`check`]
//! contains the laws that every game must satisfy.
//!
//! ```
//! use ludex_env::{Draw, Outcomes, ToMove, Viewer, load};
//!
//! let game = load("kuhn_poker(players=3)").unwrap();
//! let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), 42, 0), Outcomes::new());
//! while state.turn() == ToMove::Chance {
//!     state.chance(&mut outcomes);
//!     state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
//! }
//! assert_eq!(state.legal_list(0), [0, 1]);
//! state.play(0, 1).unwrap();
//! assert_eq!(state.turn(), ToMove::Seat(1));
//! println!("{}", state.view(Viewer::Seat(1)).text());
//! ```
//!
//! # Guarantees
//! - This crate does not access files, the network or the clock, and starts no threads. It contains no unsafe code.
//! - Chance is a function of game, seed and episode number ([`draw`]), so anyone can reproduce it. States contain no random
//!   generator.
//! - Everything displayed to a seat derives from that seat's view. Information outside the view cannot leak.
//! - A refused move or call changes nothing. Moves are checked unless the function's name says otherwise; an unchecked
//!   move with any id in range is memory-safe.
//! - A row of a batch equals a single environment with the row's seed.
//!
//! See `docs/adding-a-game.md` for how to add a game, to this crate or to your own program.
#![forbid(unsafe_code)]

pub mod anchor_ladder;
pub mod batch;
pub mod board;
pub mod cards;
pub mod check;
mod division_marks;
pub mod documents;
pub mod draw;
mod dyn_game;
pub mod dyn_state;
pub mod game;
pub mod games;
mod marks;
pub mod message_views;
mod missed_wins;
pub mod notation;
mod outcomes;
pub mod params;
pub mod picture;
pub mod plan_game;
pub mod playthrough;
pub mod policy;
mod quote;
pub mod recording;
pub mod registry;
mod sgf;
pub mod svg;
pub mod tensor;
mod typed;

pub use batch::{Actions, BatchConfig, DynBatch, Episode, ResetSeeds};
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
pub use registry::{Games, RegisteredGame, games, load, load_with};
