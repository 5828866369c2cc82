//! The match plane.

pub mod player;

pub use player::{Hub, Player};
