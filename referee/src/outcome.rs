//! Outcome of each seat from the returns.

pub use ludex_env::recording::{is_forfeit, outcomes};

use ludex_env::{DynGame, Unit};
use ludex_protocol::spec::Utility;

/// Returns true if an agent can beat the other agents of a game. Returns false if all seats win or lose together
/// (hanabi), or if each seat maximizes its own return (the prisoner's dilemma, bargaining). Games without a winner are
/// measured by their mean return.
pub fn is_competitive(game: &dyn DynGame) -> bool {
    game.spec().utility != Utility::Identical && !matches!(game.info().unit, Unit::Field(_))
}
