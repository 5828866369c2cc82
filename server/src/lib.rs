//! The Ludex server: one port for HTTP and WebSockets, connections and their access, pages, and the commands of
//! operators. `ludex-gym` has the environments of clients, and `ludex-arena` their matches.
//!
//! ```
//! use ludex_server::{Config, run};
//!
//! # fn main() -> anyhow::Result<()> {
//! let data = tempfile::tempdir()?;
//! let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//!     println!("ws://{}", listener.local_addr()?);
//!     // Serves until the last argument resolves, which is immediately here.
//!     run(listener, Config::new(data.path()), async {}).await
//! })
//! # }
//! ```
//!
//! [`Config::games`] and [`Opponents::agents`](ludex_gym::opponents::Opponents::agents) define the offered games and agents. You
//! can add your own games and agents to the built-in ones.
//!
//! Invariants:
//! - The server contains no game rules.
//! - A request whose reply is cached is never executed again.
//! - A session that a client was told is resumed can be resumed after a crash.
//! - Each session has one connection.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

pub mod auth;
pub mod backup;
mod balance;
mod cells;
mod check;
pub mod config;
mod connection_limits;
pub mod doctor;
pub mod door;
mod handle;
mod http;
pub mod limits;
mod listen;
pub mod operators;
mod page_cache;
mod peer;
mod ratings;
mod registration;
mod response_body;
pub mod retention;
mod running_cell;
mod server_state;
mod session;
#[cfg(test)]
mod simulation;
mod standby;
mod tls;

/// Target of the events of the access log, of which each request has one (see [`Config::access_log`]).
pub const ACCESS_LOG: &str = "ludex::access";

pub use check::check;
pub use config::Config;
pub use handle::ServerHandle;
pub use listen::{run, run_then, run_while, run_with_handle};
