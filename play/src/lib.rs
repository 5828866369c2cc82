//! Matches without a network: the match machine with its clocks, series of matches in one process, agents as remote
//! players, and runs (suites and tournaments that continue wherever they were stopped).
//!
//! ```
//! # fn main() -> anyhow::Result<()> {
//! let game = ludex_env::load("connect_four")?;
//! let played = ludex_play::play(&game, ["mcts sims=50", "random"], 7)?;
//! let footer = &played.record.footer;
//! println!("{:?}: {:?} after {} moves", footer.reason, footer.returns, played.record.events.len());
//! assert_eq!(footer.returns.iter().sum::<f64>(), 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! What always holds here:
//! - The crate opens no socket and knows no store. A [remote agent](remote_agent) plays over a client that it is given.
//! - A [machine] does no IO: time is an argument, chance comes from the seed, and the driver takes the outputs in
//!   order.
//! - The same game, agents and seed give the same moves, on any number of threads.
#![forbid(unsafe_code)]

pub mod agents_file;
pub mod anchor_ladder;
pub mod display;
pub mod files;
pub mod local;
pub mod machine;
pub mod remote_agent;
pub mod runs;
pub mod tables;
pub mod time;
pub mod transcript;

pub use self::local::{AgentInput, play};

/// The program as it names itself to clients and in records.
pub const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));
