//! The rules of every Ludex game: a typed core ([`Game`]), an erased edge ([`DynGame`], [`DynState`], [`DynView`]),
//! batches of environments ([`DynBatch`]), and randomness that anybody can compute again ([`draw`]).
//!
//! Synchronous, without IO. `docs/adding-a-game.md` says how a game is added.
#![forbid(unsafe_code)]

pub mod batch;
pub mod board;
pub mod cards;
pub mod check;
pub mod columns;
pub mod draw;
pub mod erased;
pub mod game;
pub mod games;
pub mod ladder;
pub mod params;
pub mod playthrough;
pub mod policy;
pub mod present;
pub mod registry;
pub mod sgf;
pub mod tensor;

pub use batch::{Actions, BatchConfig, BatchError, DynBatch, Seeds};
pub use columns::{Columns, Episode, MaskForm};
pub use draw::{Draw, Stream};
pub use erased::{DynGame, DynState, DynView, GameRef, Given, Refusal};
pub use game::{Action, Facts, Game, Heard, Issue, Mover, Outcomes, Seat, SeatSet, Seen, Sink, Turn, Unit, Viewer};
pub use params::ParamError;
pub use policy::{AgentKey, Ask, Attempt, Journal, Past, Policy};
pub use registry::{Alias, Entry, games, load, load_with};
