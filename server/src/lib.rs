//! The `ludex` program as a library: WebSocket server, sessions, matches, clocks, store, command line.
#![forbid(unsafe_code)]

pub mod auth;
pub mod catalogue;
pub mod compute;
pub mod matches;
pub mod opponents;
pub mod ratings;
pub mod store;
