//! The match plane: machines, the tasks that drive them, and the lobby that seats clients.

pub mod clock;
pub mod frames;
pub mod machine;
pub mod terms;

pub use frames::Watcher;

/// The time of day as records write it.
pub(crate) fn now_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
