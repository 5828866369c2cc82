//! The games. One line each; a game's rules, page and tests are in its own files.

use crate::registry::Entry;

pub mod connect_four;
pub mod tic_tac_toe;

/// All games, in documented order.
pub const GAMES: &[Entry] = &[tic_tac_toe::ENTRY, connect_four::ENTRY];
