//! Example of a custom game and a custom agent, added to the registries of Ludex without a fork.

#![forbid(unsafe_code)]

pub mod naming;
pub mod square_player;
pub mod subtract_square;

use ludex_agents::Roster;
use ludex_env::Games;

use naming::Naming;
use subtract_square::SubtractSquare;

/// Returns the built-in registries of Ludex, extended by the games and the agent of this crate.
pub fn registries() -> (Games, Roster) {
    (ludex_games::builtin().with::<SubtractSquare>().with::<Naming>(), Roster::builtin().with(square_player::ENTRY))
}
