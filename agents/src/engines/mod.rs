//! Adapters: agents that are programs of their own.

pub(crate) mod gtp;
mod pool;
mod program;
pub(crate) mod uci;
