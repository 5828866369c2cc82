//! The match plane: the event loops that run matches, and the lobby that seats clients.

mod ended_match;
mod event_loop;
mod hub;
mod joins;
mod ladder;
mod line;
mod live_match;
pub mod lobby;
mod loop_context;
mod match_row;
mod observer;
mod plan;
mod run_observer;
mod server_agents;
mod spectators;

pub use hub::{Hub, HubConfig};
pub use hub::{MatchReplay, storage_failure, stored_end};
pub use plan::AgentOptions;
pub use run_observer::RunObserver;
