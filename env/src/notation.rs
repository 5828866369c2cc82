//! Standard notations for complete games.
//!
//! A game declares its notation ([`GameInfo::notation`](crate::game::GameInfo::notation)) and converts records to it
//! ([`GameText::in_notation`](crate::game::GameText::in_notation)). Pages and commands call
//! [`in_notation`](crate::recording::in_notation).

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
