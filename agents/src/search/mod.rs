//! Players that look ahead.

pub mod mcts;
mod tree;
