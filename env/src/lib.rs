//! The rules of every Ludex game.
//!
//! A game is a typed core, [`Game`]: rules with parameters over plain states. Hosts hold it without its type: [`DynGame`]
//! is the game, [`DynState`] a position, [`DynView`] what one viewer knows, [`DynBatch`] many environments that are
//! stepped together. [`Games`] finds games by name, [`history`] makes records and plays them again, [`check`] holds the
//! laws that every game keeps.
//!
//! ```
//! use ludex_env::{Draw, Outcomes, Turn, Viewer, load};
//!
//! let game = load("kuhn_poker(players=3)").unwrap();
//! let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), 42, 0), Outcomes::new());
//! while state.turn() == Turn::Chance {
//!     state.chance(&mut outcomes);
//!     state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
//! }
//! assert_eq!(state.legal_list(0), [0, 1]);
//! state.play(0, 1).unwrap();
//! assert_eq!(state.turn(), Turn::Seat(1));
//! println!("{}", state.view(Viewer::Seat(1)).text());
//! ```
//!
//! # What holds everywhere
//! - Nothing here reads or writes a file, opens a connection, looks at a clock, or starts a thread. No code is unsafe.
//! - Chance is a function of game, seed and episode number ([`draw`]), so anybody can compute it again. States hold no
//!   generator.
//! - All that a seat is shown is made from that seat's view. A secret that is not in the view cannot leak.
//! - A refused move or call changes nothing. Moves are checked unless the function's name says otherwise; an unchecked
//!   move with any id in range is memory-safe.
//! - A batch's row is what a single environment with the row's seed would be.
//!
//! `docs/adding-a-game.md` says how a game is added, to this crate or to a program of your own.
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
