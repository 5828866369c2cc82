//! The match plane: the tasks that drive matches, and the lobby that seats clients.

pub mod actor;
pub mod handle;
pub mod hub;
pub mod lobby;
pub mod player;

pub use hub::{Hub, HubConfig};
pub use player::Player;
