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

pub mod batch;
pub mod board;
pub mod cards;
pub mod check;
pub mod documents;
pub mod draw;
pub mod erased;
pub mod game;
pub mod games;
pub mod history;
pub mod ladder;
mod loaded;
mod marks;
mod missed;
pub mod notation;
mod outcomes;
pub mod params;
pub mod picture;
pub mod plans;
pub mod playthrough;
pub mod policy;
pub mod present;
pub mod registry;
mod said;
mod sgf;
mod split;
pub mod tensor;
mod typed;

pub use batch::{Actions, BatchConfig, DynBatch, Episode, Seeds};
pub use draw::{Draw, Stream};
pub use erased::{DynState, DynView};
pub use game::{
    Action, Alias, Facts, Game, Heard, Mark, MarkDoc, MarkValue, Marks, Mover, Outcomes, Seat, SeatSet, Seen, Sink,
    Turn, Unit, Viewer,
};
pub use loaded::{DynGame, GameRef};
pub use ludex_protocol::error::Issue;
pub use ludex_protocol::{Move, Refusal};
pub use params::ParamError;
pub use picture::{Gesture, Picture};
pub use policy::{AgentKey, Ask, Attempt, Journal, Past, Policy, Shelf};
pub use registry::{Entry, Games, games, load, load_with};
