//! Agents that run external programs, by protocol.

pub(crate) mod botzone;
pub(crate) mod gtp;
mod pool;
mod program;
pub(crate) mod uci;
