//! A game and an agent of one's own, added to Ludex's. `ludex` itself is not changed.

#![forbid(unsafe_code)]

pub mod naming;
pub mod square_player;
pub mod subtract_square;

use ludex_agents::Roster;
use ludex_env::Games;

use naming::Naming;
use subtract_square::SubtractSquare;

/// The games and agents of Ludex, and ours.
pub fn registries() -> (Games, Roster) {
    (Games::builtin().with::<SubtractSquare>().with::<Naming>(), Roster::builtin().with(square_player::ENTRY))
}
