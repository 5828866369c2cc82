//! Records in the standard notation of their game.

use ludex_protocol::record::{Record, RecordEvent};

use super::steps::position;
use crate::dyn_game::DynGame;
use crate::game::{Action, Seat};

/// Returns a record of `game` in the game's notation.
///
/// # Errors
/// Fails if the game has no notation or an event cannot be played.
pub fn in_notation(game: &dyn DynGame, record: &Record) -> Result<String, String> {
    if game.notation().is_none() {
        return Err(format!("{} has no notation of its own", game.id()));
    }
    position(game, &record.events).map_err(|stop| stop.to_string())?.in_notation(record)
}

/// Returns the moves with their seats, without chance outcomes and documents.
pub(crate) fn moves(record: &Record) -> Vec<(Seat, Action)> {
    let of = |event: &RecordEvent| match event {
        RecordEvent::Move(m) => Some((m.seat as Seat, m.action?)),
        _ => None,
    };
    record.events.iter().filter_map(of).collect()
}
