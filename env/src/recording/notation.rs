//! Records in the notation of their game.

use ludex_protocol::record::{Record, RecordEvent};

use super::steps::position;
use crate::dyn_game::DynGame;
use crate::game::{Action, Seat};

/// A record of `game` in the game's notation.
///
/// # Errors
/// A game without a notation, or an event that cannot be played, in one sentence.
pub fn in_notation(game: &dyn DynGame, record: &Record) -> Result<String, String> {
    if game.notation().is_none() {
        return Err(format!("{} has no notation of its own", game.id()));
    }
    position(game, &record.events).map_err(|stop| stop.to_string())?.in_notation(record)
}

/// The moves with their seats, without chance and speech.
pub(crate) fn moves(record: &Record) -> Vec<(Seat, Action)> {
    let of = |event: &RecordEvent| match event {
        RecordEvent::Move(m) => Some((m.seat as Seat, m.action?)),
        _ => None,
    };
    record.events.iter().filter_map(of).collect()
}
