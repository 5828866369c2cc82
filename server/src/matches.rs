//! The match plane: the tasks that drive matches, and the lobby that seats clients.

pub mod actor;
pub mod entrant;
pub mod hub;
pub mod lobby;
pub mod mailbox;
pub mod player;

pub use hub::{Hub, HubConfig};
pub use player::Player;
