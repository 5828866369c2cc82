//! Agents that are programs of their own: one file or folder for each protocol.

pub(crate) mod botzone;
pub(crate) mod gtp;
mod pool;
mod program;
pub(crate) mod uci;
