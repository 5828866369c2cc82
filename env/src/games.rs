//! The games. One line each; a game's rules, page and tests are in its own files.

use crate::registry::Entry;

pub mod ataxx;
pub mod bargaining;
pub mod breakthrough;
pub mod chess;
pub mod connect_four;
pub mod fight_the_landlord;
pub mod first_sealed_auction;
pub mod go;
pub mod gomoku;
pub mod hanabi;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod leduc_poker;
pub mod liars_dice;
pub mod negotiation;
pub mod nim;
pub mod pig;
pub mod reversi;
pub mod texas_holdem;
pub mod tic_tac_toe;

/// All games, in documented order.
pub const GAMES: &[Entry] = &[
    tic_tac_toe::ENTRY,
    connect_four::ENTRY,
    nim::ENTRY,
    breakthrough::ENTRY,
    gomoku::ENTRY,
    reversi::ENTRY,
    ataxx::ENTRY,
    go::ENTRY,
    chess::ENTRY,
    pig::ENTRY,
    kuhn_poker::ENTRY,
    leduc_poker::ENTRY,
    texas_holdem::ENTRY,
    liars_dice::ENTRY,
    fight_the_landlord::ENTRY,
    hanabi::ENTRY,
    first_sealed_auction::ENTRY,
    negotiation::ENTRY,
    bargaining::ENTRY,
    iterated_prisoners_dilemma::ENTRY,
];
