//! The `ludex` program as a library: WebSocket server, sessions, matches, clocks, store, command line.
#![forbid(unsafe_code)]

pub mod matches;
