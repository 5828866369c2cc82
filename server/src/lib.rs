//! The `ludex` program as a library: WebSocket server, sessions, matches, clocks, store, command line.
#![forbid(unsafe_code)]

pub mod auth;
pub mod matches;
pub mod store;
