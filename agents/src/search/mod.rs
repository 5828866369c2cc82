//! Players that look ahead.

pub mod alphabeta;
pub mod ismcts;
pub mod mcts;
mod reuse;
mod tree;
