//! Standard notations for complete games, such as PGN for chess and SGF for Go.
//!
//! A game with a notation declares it ([`Game::NOTATION`](crate::Game::NOTATION)) and writes it
//! ([`Game::in_notation`](crate::Game::in_notation)). Pages and commands call [`in_notation`](crate::history::in_notation).

use ludex_protocol::record::Record;

/// A notation for complete games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notation {
    /// Display name, e.g. `PGN`.
    pub name: &'static str,
    /// Usual file extension without the dot, e.g. `pgn`.
    pub extension: &'static str,
    /// Media type for HTTP responses.
    pub media: &'static str,
}

/// Portable Game Notation for chess.
pub const PGN: Notation = Notation { name: "PGN", extension: "pgn", media: "application/vnd.chess-pgn" };

/// Smart Game Format, FF\[4\].
pub const SGF: Notation = Notation { name: "SGF", extension: "sgf", media: "application/x-go-sgf" };

/// Returns the name of the agent on a seat; `?` without one.
pub(crate) fn player(record: &Record, seat: usize) -> &str {
    record.header.seats.get(seat).map_or("?", |seat| seat.name.as_str())
}

/// Returns the start date of the match, as `2026-11-23`.
pub(crate) fn date(record: &Record) -> Option<&str> {
    record.header.started.get(..10)
}
