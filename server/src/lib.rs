//! The ludex server: one port for HTTP and WebSockets, sessions that survive a drop, environments for learners, matches
//! for agents, and a store.
#![forbid(unsafe_code)]

pub mod auth;
pub mod catalogue;
pub mod compute;
pub mod config;
pub mod gym;
mod http;
pub mod limits;
mod listen;
pub mod mailbox;
pub mod matches;
mod metrics;
pub mod opponents;
mod peer;
mod random;
mod ratings;
mod session;
pub mod sessions;
mod shared;
pub mod store;
mod tls;
pub mod token;

pub use config::Config;
pub use listen::{run, run_then};
