//! Agents that search ahead.

pub mod alphabeta;
pub mod expectiminimax;
pub mod ismcts;
pub mod mcts;
pub mod move_values;
mod reuse;
mod tree;
