//! Standard notations for complete games, and functions shared by their writers.

use ludex_env::notation::Notation;
use ludex_env::{Action, Seat};
use ludex_protocol::record::{Record, RecordEvent};

/// Portable Game Notation for chess.
pub const PGN: Notation = Notation { name: "PGN", extension: "pgn", media: "application/vnd.chess-pgn" };

/// Smart Game Format, FF\[4\].
pub const SGF: Notation = Notation { name: "SGF", extension: "sgf", media: "application/x-go-sgf" };

/// Returns the name of the agent on a seat; `?` for a seat without an agent.
pub(crate) fn player(record: &Record, seat: usize) -> &str {
    record.header.seats.get(seat).map_or("?", |seat| seat.name.as_str())
}

/// Returns the start date of the match, such as `2026-11-23`.
pub(crate) fn date(record: &Record) -> Option<&str> {
    record.header.started.get(..10)
}

/// Returns the moves with their seats, omitting chance outcomes and documents.
pub(crate) fn moves(record: &Record) -> Vec<(Seat, Action)> {
    let of = |event: &RecordEvent| match event {
        RecordEvent::Move(m) => Some((m.seat as Seat, m.action?)),
        _ => None,
    };
    record.events.iter().filter_map(of).collect()
}
