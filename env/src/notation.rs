//! Records in the notation that people and other programs keep a game in, such as PGN for chess and SGF for Go.
//!
//! A game that has one names it ([`Game::NOTATION`](crate::Game::NOTATION)) and writes it
//! ([`Game::in_notation`](crate::Game::in_notation)). Pages and commands ask [`written`].

use ludex_protocol::record::{Record, RecordEvent};

use crate::game::{Action, Seat};
use crate::history::position;
use crate::loaded::DynGame;

/// A notation of whole games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notation {
    /// Its name, e.g. `PGN`.
    pub name: &'static str,
    /// The usual end of a file's name, e.g. `pgn`.
    pub extension: &'static str,
    /// Its media type.
    pub media: &'static str,
}

/// Portable Game Notation.
pub const PGN: Notation = Notation { name: "PGN", extension: "pgn", media: "application/vnd.chess-pgn" };

/// The Smart Game Format, FF\[4\].
pub const SGF: Notation = Notation { name: "SGF", extension: "sgf", media: "application/x-go-sgf" };

/// A record of `game` in the game's notation.
///
/// # Errors
/// A game without a notation, or an event that cannot be played, in one sentence.
pub fn written(game: &dyn DynGame, record: &Record) -> Result<String, String> {
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

/// The name of the agent on a seat; `?` if there is none.
pub(crate) fn player(record: &Record, seat: Seat) -> &str {
    record.header.seats.get(seat).map_or("?", |seat| seat.name.as_str())
}

/// The day on which it began, as `2026-11-23`.
pub(crate) fn date(record: &Record) -> Option<&str> {
    record.header.started.get(..10)
}
