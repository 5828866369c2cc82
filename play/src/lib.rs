//! Matches without a network: the match machine with its clocks, series of matches in one process, agents as remote
//! players, and runs (suites and tournaments that continue wherever they were stopped).
#![forbid(unsafe_code)]

mod files;
pub mod ladder;
pub mod local;
pub mod machine;
pub mod named;
pub mod remote_agent;
pub mod runs;
pub mod stepping;
pub mod tables;
pub mod time;
pub mod transcript;
pub mod words;

/// The program as it names itself to clients and in records.
pub const PROGRAM: &str = concat!("ludex/", env!("CARGO_PKG_VERSION"));
