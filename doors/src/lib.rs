//! Doors: other protocols on a Ludex server's port. Each door translates requests of its protocol into messages of a
//! client of the server in the same process, so games, limits, permissions and records are those of all clients.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ludex_client::LocalConnector;
//! use ludex_doors::openenv;
//!
//! // A server hands each HTTP connection a connector; here it leads nowhere.
//! let connector = LocalConnector::new(Arc::new(|| Err(std::io::ErrorKind::ConnectionRefused.into())));
//! let _routes = openenv::routes(connector);
//! ```
//!
//! Invariants:
//! - Doors contain no rules, no prompts and no state of games; the server has them.
//! - What a door's client may do is what the token of its requests allows.
#![forbid(unsafe_code)]

mod access;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod openenv;
mod websocket;
