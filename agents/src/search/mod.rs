//! Players that look ahead.

pub mod alphabeta;
pub mod expectiminimax;
pub mod mcts;
mod tree;
