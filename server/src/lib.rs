//! The ludex server: one port for HTTP and WebSockets, sessions that survive a drop, environments for learners, matches
//! for agents, a store, and the command line.
#![forbid(unsafe_code)]

pub mod archive;
pub mod auth;
pub mod bundle;
pub mod catalogue;
mod commands;
pub mod compute;
pub mod config;
pub mod gym;
mod http;
pub mod kit;
pub mod limits;
mod listen;
pub mod local;
pub mod matches;
mod metrics;
pub mod named;
pub mod opponents;
mod ratings;
pub mod remote_agent;
pub mod runs;
pub mod session;
mod shared;
pub mod stepping;
pub mod store;
pub mod stub;
pub mod tables;
mod tls;

pub use commands::main;
pub use config::Config;
pub use listen::{run, run_then};

/// The program as it names itself to clients and in records.
pub const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));
