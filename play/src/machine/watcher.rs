//! Watchers, which are the recipients of match frames.

use ludex_env::{Seat, Viewer};

/// Recipient of the frames of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Watcher {
    Seat(Seat),
    /// Spectators that see public information only.
    Public,
    /// Spectators that see all information, including hidden information.
    Full,
}

impl Watcher {
    /// Returns the watcher's seat; `None` for spectators.
    pub fn seat(self) -> Option<u32> {
        match self {
            Watcher::Seat(seat) => Some(seat as u32),
            Watcher::Public | Watcher::Full => None,
        }
    }

    /// Returns the viewer of positions that corresponds to this watcher.
    pub fn viewer(self) -> Viewer {
        match self {
            Watcher::Seat(s) => Viewer::Seat(s),
            Watcher::Public | Watcher::Full => Viewer::Public,
        }
    }
}
