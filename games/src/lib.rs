//! The games of Ludex. Each game is one module with its rules, its docs page, its prompt template and its tests.
//!
//! ```
//! use ludex_env::{Draw, Outcomes, ToMove, Viewer};
//!
//! let game = ludex_games::load("kuhn_poker(players=3)").unwrap();
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
//! To add a game, to this crate or to your own program, see `docs/adding-a-game.md`.
#![forbid(unsafe_code)]

use std::sync::LazyLock;

use ludex_env::{GameRef, Games, ParamError, RegisteredGame};
use ludex_protocol::spec::Params;

pub mod board;
pub mod cards;
mod division_marks;
pub mod notation;
pub mod picture;
pub mod plan_game;
mod quote;
mod sgf;

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

/// The games of this crate, in the order of the docs.
///
/// A `static`, not a `const`: a `const` is evaluated in every crate that uses it, which would compile all games again
/// there.
static GAMES: &[RegisteredGame] = &[
    RegisteredGame::of::<tic_tac_toe::TicTacToe>(),
    RegisteredGame::of::<connect_four::ConnectFour>(),
    RegisteredGame::of::<nim::Nim>(),
    RegisteredGame::of::<breakthrough::Breakthrough>(),
    RegisteredGame::of::<gomoku::Gomoku>(),
    RegisteredGame::of::<reversi::Reversi>(),
    RegisteredGame::of::<ataxx::Ataxx>(),
    // Boards up to 11x11 need two words per set of points; larger boards need six.
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

/// Returns the entries of all games, in the order of the docs.
pub fn games() -> &'static [RegisteredGame] {
    GAMES
}

/// Returns the registry of all games.
///
/// ```
/// let games = ludex_games::builtin();
/// assert_eq!(games.load("othello").unwrap().spec().game, "reversi");
/// assert!(games.load("kuhn_pokre").is_err_and(|e| e.nearest.as_deref() == Some("kuhn_poker")));
/// ```
pub fn builtin() -> Games {
    static BUILTIN: LazyLock<Games> = LazyLock::new(|| GAMES.iter().copied().collect());
    BUILTIN.clone()
}

/// Loads a game from a game string; see [`Games::load`].
///
/// # Errors
/// Same as [`Games::load`].
pub fn load(text: &str) -> Result<GameRef, ParamError> {
    load_with(text, &Params::new())
}

/// Loads a game like [`load`]. Entries of `more` override parameters of the string.
///
/// # Errors
/// Same as [`Games::load`].
pub fn load_with(text: &str, more: &Params) -> Result<GameRef, ParamError> {
    builtin().load_with(text, more)
}
