//! Where the matches of a run are played. A plan, its resume, budgets, verification and reports do not know it.

use crate::local::{self, Asking, Played, Seated};
use crate::machine::terms::Setup;

/// A match that a run wants played.
pub struct Order<'a> {
    /// Its terms.
    pub setup: Setup,
    /// The agent on each seat.
    pub players: &'a [&'a Seated],
    /// Which of them are [`blameless`](crate::local::blameless), by seat.
    pub blameless: Vec<bool>,
    /// How they are asked.
    pub asking: Asking<'a>,
}

/// Plays the matches of a run.
pub trait Executor: Sync {
    /// Plays a match to its end. `None` if it cannot be played now: the run stops, and nothing of it is lost.
    fn play(&self, order: Order<'_>) -> Option<Played>;
}

/// Plays in this process.
pub struct Here;

impl Executor for Here {
    fn play(&self, order: Order<'_>) -> Option<Played> {
        Some(local::play_match(order.setup, order.players, order.asking))
    }
}
