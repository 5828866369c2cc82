//! Records in the notation that people and other programs keep a game in, such as PGN for chess and SGF for Go.
//!
//! A game that has one names it ([`Game::NOTATION`](crate::Game::NOTATION)) and writes it
//! ([`Game::in_notation`](crate::Game::in_notation)). Pages and commands ask
//! [`in_notation`](crate::history::in_notation).

use ludex_protocol::record::Record;

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

/// The name of the agent on a seat; `?` if there is none.
pub(crate) fn player(record: &Record, seat: usize) -> &str {
    record.header.seats.get(seat).map_or("?", |seat| seat.name.as_str())
}

/// The day on which it began, as `2026-11-23`.
pub(crate) fn date(record: &Record) -> Option<&str> {
    record.header.started.get(..10)
}
