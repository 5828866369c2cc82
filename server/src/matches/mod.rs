//! The match plane: machines, the tasks that drive them, and the lobby that seats clients.

pub mod actor;
pub mod clock;
pub mod entrant;
pub mod frames;
pub mod hub;
pub mod lobby;
pub mod machine;
pub mod mailbox;
pub mod player;
pub mod terms;

pub use frames::Watcher;
pub use hub::{Hub, HubConfig};
pub use player::Player;

/// The time of day as records write it.
pub(crate) fn now_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Milliseconds since the Unix epoch.
pub(crate) fn epoch_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
