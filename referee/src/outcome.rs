//! Outcome of each seat from the returns.

pub use ludex_env::recording::{is_forfeit, outcomes};

use ludex_env::{DynGame, Unit};
use ludex_protocol::spec::Utility;

/// Returns true if agents of the game can beat each other. In other games all seats win together (hanabi), or each seat
/// maximizes its own return (the prisoner's dilemma, bargaining): such games are measured by their mean return.
pub fn is_competitive(game: &dyn DynGame) -> bool {
    game.spec().utility != Utility::Identical && !matches!(game.info().unit, Unit::Field(_))
}
