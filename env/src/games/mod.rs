//! The games. One line each; a game's rules, page and tests are in its own files.

use crate::registry::Entry;

pub mod ataxx;
pub mod chess;
pub mod connect_four;
pub mod go;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod tic_tac_toe;

/// All games, in documented order.
pub const GAMES: &[Entry] = &[
    tic_tac_toe::ENTRY,
    connect_four::ENTRY,
    kuhn_poker::ENTRY,
    iterated_prisoners_dilemma::ENTRY,
    chess::ENTRY,
    go::ENTRY,
    ataxx::ENTRY,
];
