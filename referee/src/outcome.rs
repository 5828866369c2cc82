//! Who won: the outcome of each seat from the returns.

pub use ludex_env::recording::{is_forfeit, outcomes};

use ludex_env::{DynGame, Unit};
use ludex_protocol::spec::Utility;

/// Whether an agent can be better than another by beating it. It cannot where all seats win together (hanabi), or where each
/// seat's own return is the aim (the prisoner's dilemma, bargaining): such games are measured by their mean return.
pub fn is_competitive(game: &dyn DynGame) -> bool {
    game.spec().utility != Utility::Identical && !matches!(game.unit(), Unit::Field(_))
}
