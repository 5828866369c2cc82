//! The games: a module and an entry each. A game's rules, page and tests are in its own files.

use crate::registry::Entry;

pub mod ataxx;
pub mod bargaining;
pub mod battle_cards;
pub mod breakthrough;
pub mod chess;
pub mod connect_four;
pub mod elemental_duel;
pub mod fight_the_landlord;
pub mod first_sealed_auction;
pub mod free_style;
pub mod go;
pub mod gomoku;
pub mod hanabi;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod leduc_poker;
pub mod liars_dice;
pub mod mcr_mahjong;
pub mod negotiation;
pub mod nim;
pub mod pig;
pub mod reversi;
pub mod texas_holdem;
pub mod tic_tac_toe;
pub mod tower_defense;
pub mod undercover;

/// The games of this crate, in documented order.
///
/// A `static`, not a `const`: a `const` is evaluated in every crate that uses it, which compiles all games there again.
pub(crate) static GAMES: &[Entry] = &[
    Entry::of::<tic_tac_toe::TicTacToe>(),
    Entry::of::<connect_four::ConnectFour>(),
    Entry::of::<nim::Nim>(),
    Entry::of::<breakthrough::Breakthrough>(),
    Entry::of::<gomoku::Gomoku>(),
    Entry::of::<reversi::Reversi>(),
    Entry::of::<ataxx::Ataxx>(),
    // Boards to 11x11 have two words per set of points, the others six.
    Entry::of_either::<go::Go<2>, go::Go<6>>(),
    Entry::of::<chess::Chess>(),
    Entry::of::<pig::Pig>(),
    Entry::of::<kuhn_poker::KuhnPoker>(),
    Entry::of::<leduc_poker::LeducPoker>(),
    Entry::of::<texas_holdem::TexasHoldem>(),
    Entry::of::<liars_dice::LiarsDice>(),
    Entry::of::<fight_the_landlord::FightTheLandlord>(),
    Entry::of::<hanabi::Hanabi>(),
    Entry::of::<mcr_mahjong::McrMahjong>(),
    Entry::of::<first_sealed_auction::FirstSealedAuction>(),
    Entry::of::<negotiation::Negotiation>(),
    Entry::of::<bargaining::Bargaining>(),
    Entry::of::<free_style::FreeStyle>(),
    Entry::of::<undercover::Undercover>(),
    Entry::of::<iterated_prisoners_dilemma::IteratedPrisonersDilemma>(),
    Entry::of::<tower_defense::TowerDefense>(),
    Entry::of::<battle_cards::BattleCards>(),
    Entry::of::<elemental_duel::ElementalDuel>(),
];
