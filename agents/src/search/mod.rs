//! Players that look ahead.

pub mod alphabeta;
pub mod mcts;
mod tree;
