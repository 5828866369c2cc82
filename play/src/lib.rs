//! Matches without a network: the match machine with its clocks, series of matches in one process, and resumable runs
//! of suites and tournaments. Agents can also play on a remote server.
//!
//! ```
//! # fn main() -> anyhow::Result<()> {
//! let game = ludex_games::load("connect_four")?;
//! let played = ludex_play::play(&game, ["mcts sims=50", "random"], 7)?;
//! let footer = &played.record.footer;
//! println!("{:?}: {:?} after {} moves", footer.reason, footer.returns, played.record.events.len());
//! assert_eq!(footer.returns.iter().sum::<f64>(), 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - The crate opens no socket and uses no store. A [remote agent](remote_agent) uses a client that the caller
//!   supplies.
//! - A [machine] does no IO: time is an argument, chance comes from the seed, and the driver executes outputs in
//!   order.
//! - The same game, agents and seed give the same moves on any number of threads.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "names of rows and fields say it; the crate is used inside the project alone")]

pub mod agents_file;
pub mod anchor_ladder;
pub mod files;
pub mod header;
pub mod local;
pub mod machine;
pub mod remote_agent;
pub mod runs;
#[cfg(feature = "onnx")]
pub mod self_play;
pub mod suite_specs;
pub mod time;

pub use self::local::{AgentInput, play};
pub use ludex_report::PROGRAM;
