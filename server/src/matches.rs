//! The match plane: the tasks that drive matches, and the lobby that seats clients.

mod actor;
mod crowd;
mod hub;
mod ladder;
pub mod lobby;
mod player;

pub(crate) use hub::{Guard, fresh_id, unkept};
pub use hub::{Hub, HubConfig};
pub(crate) use player::Player;
