//! The match plane: the tasks that drive matches, and the lobby that seats clients.

mod actor;
mod client;
mod hub;
mod ladder;
pub mod lobby;
mod spectators;

pub(crate) use client::MatchClient;
pub(crate) use hub::MatchReplay;
pub(crate) use hub::{AgentOptions, fresh_id, storage_failure};
pub use hub::{Hub, HubConfig};
