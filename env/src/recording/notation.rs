//! Records in the standard notation of their game.

use ludex_protocol::record::Record;

use super::steps::position;
use crate::dyn_game::DynGame;

/// Converts a record of `game` to the game's notation.
///
/// # Errors
/// Fails if the game has no notation or an event cannot be played.
pub fn in_notation(game: &dyn DynGame, record: &Record) -> Result<String, String> {
    if game.info().notation.is_none() {
        return Err(format!("{} has no standard notation", game.id()));
    }
    position(game, &record.events).map_err(|stop| stop.to_string())?.in_notation(record)
}
