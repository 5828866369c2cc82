//! The games: a module and an entry each. A game's rules, page and tests are in its own files.

use crate::registry::RegisteredGame;

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
pub(crate) static GAMES: &[RegisteredGame] = &[
    RegisteredGame::of::<tic_tac_toe::TicTacToe>(),
    RegisteredGame::of::<connect_four::ConnectFour>(),
    RegisteredGame::of::<nim::Nim>(),
    RegisteredGame::of::<breakthrough::Breakthrough>(),
    RegisteredGame::of::<gomoku::Gomoku>(),
    RegisteredGame::of::<reversi::Reversi>(),
    RegisteredGame::of::<ataxx::Ataxx>(),
    // Boards to 11x11 have two words per set of points, the others six.
    RegisteredGame::of_either::<go::Go<2>, go::Go<6>>(),
    RegisteredGame::of::<chess::Chess>(),
    RegisteredGame::of::<pig::Pig>(),
    RegisteredGame::of::<kuhn_poker::KuhnPoker>(),
    RegisteredGame::of::<leduc_poker::LeducPoker>(),
    RegisteredGame::of::<texas_holdem::TexasHoldem>(),
    RegisteredGame::of::<liars_dice::LiarsDice>(),
    RegisteredGame::of::<fight_the_landlord::FightTheLandlord>(),
    RegisteredGame::of::<hanabi::Hanabi>(),
    RegisteredGame::of::<mcr_mahjong::McrMahjong>(),
    RegisteredGame::of::<first_sealed_auction::FirstSealedAuction>(),
    RegisteredGame::of::<negotiation::Negotiation>(),
    RegisteredGame::of::<bargaining::Bargaining>(),
    RegisteredGame::of::<free_style::FreeStyle>(),
    RegisteredGame::of::<undercover::Undercover>(),
    RegisteredGame::of::<iterated_prisoners_dilemma::IteratedPrisonersDilemma>(),
    RegisteredGame::of::<tower_defense::TowerDefense>(),
    RegisteredGame::of::<battle_cards::BattleCards>(),
    RegisteredGame::of::<elemental_duel::ElementalDuel>(),
];
