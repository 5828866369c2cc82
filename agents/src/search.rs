//! Agents that search ahead.

pub mod alphabeta;
pub mod expectiminimax;
pub mod ismcts;
pub mod mcts;
mod reuse;
mod tree;
