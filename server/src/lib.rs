//! The Ludex server: one port for HTTP and WebSockets, sessions that survive a lost connection, environments for
//! learning agents, matches between agents, and a store.
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
//! [`Config::games`] and [`Opponents::agents`](opponents::Opponents::agents) define the offered games and agents. You
//! can add your own games and agents to the built-in ones.
//!
//! Invariants:
//! - The server contains no game rules. Each match drives a match machine of `ludex-play`.
//! - Every output of a rated match is durable before it is delivered.
//! - Hidden information of a match stays hidden until every match with its seed has ended.
//! - A request whose reply is cached is never executed again.
//! - Each session has one connection, each match has one event loop, and the store has one writer.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "rows and fields have descriptive names; the crate is internal to the project")]

pub mod auth;
pub mod backup;
mod clock;
pub mod config;
mod connection_limits;
mod frame;
mod http;
pub mod limits;
mod listen;
mod mailbox;
pub mod matches;
mod metrics;
pub mod operators;
mod page_cache;
mod peer;
mod ratings;
mod response_body;
pub mod retention;
pub mod runs;
pub mod seasons;
mod server_state;
mod session;
mod sessions;
mod stall_monitor;
pub mod standing_ladders;
pub mod suites;
mod tls;

pub use config::Config;
pub use listen::{run, run_then, run_while};
