//! The Ludex server: one port for HTTP and WebSockets, sessions that survive a lost connection, environments for learners,
//! matches for agents, and a store.
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
//!     // Serves until the last argument resolves: here at once.
//!     run(listener, Config::new(data.path()), async {}).await
//! })
//! # }
//! ```
//!
//! [`Config::games`] and [`Opponents::agents`](opponents::Opponents::agents) say which games and agents there are; more
//! can be added to the built-in ones.
//!
//! What always holds:
//! - The server knows no rules. It calls the games and agents that it is given, and each match is a task around a machine
//!   of `ludex-play`.
//! - What a rated match shows is on the disk before anybody sees it.
//! - Nobody sees what the rules hide from them before the last match on the same seed is over.
//! - A request that was answered is not carried out a second time.
//! - Each session has one connection, each match one task, and the store one writer.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

pub mod auth;
pub mod catalogue;
pub mod compute;
pub mod config;
mod connection_limits;
mod frame;
mod gym;
mod http;
pub mod limits;
mod listen;
mod mailbox;
pub mod matches;
mod metrics;
pub mod opponents;
mod peer;
mod quotas;
mod random;
mod ratings;
mod runs;
pub mod seasons;
mod server_state;
mod session;
mod sessions;
mod stall_monitor;
pub mod standing_ladders;
pub mod store;
pub mod suites;
mod tls;
mod token;
mod token_expiry;

pub use config::Config;
pub use listen::{run, run_then, run_while};
