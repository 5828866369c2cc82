//! Games of plans: two seats write a plan each, a simulator decides, and over several rounds the plans are revised.

mod log;

#[cfg(test)]
pub(crate) use log::events;
pub(crate) use log::tell;
pub use log::{Events, Log, Summary, Word};

use crate::game::Seat;

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The seat of the side that won.
    pub winner: Seat,
    /// Why, in one word.
    pub reason: &'static str,
    /// How long it took, in the game's own steps.
    pub length: u32,
    /// What the round was worth to either side.
    pub value: [f64; 2],
}
