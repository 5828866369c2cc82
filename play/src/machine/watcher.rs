//! Those who are told about a match.

use ludex_env::{Seat, Viewer};

/// Somebody who is told about a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Watcher {
    /// A seat.
    Seat(Seat),
    /// Spectators who see what everybody at the table sees.
    Public,
    /// Spectators who see hidden information.
    Full,
}

impl Watcher {
    /// Whose eyes the watcher has.
    pub fn viewer(self) -> Viewer {
        match self {
            Watcher::Seat(s) => Viewer::Seat(s),
            Watcher::Public | Watcher::Full => Viewer::Public,
        }
    }
}
