//! Where the matches of a run are played. A plan, its resume, budgets, verification and reports do not know it.

use crate::local::{self, HostOptions, Participant, PlayedMatch};
use crate::machine::interface::MatchSetup;

/// A match that a run wants played.
pub struct MatchJob<'a> {
    /// Its terms.
    pub setup: MatchSetup,
    /// The agent on each seat.
    pub players: &'a [&'a Participant],
    /// Which of them are [`blameless`](crate::local::blameless), by seat.
    pub blameless: Vec<bool>,
    /// How they are asked.
    pub asking: HostOptions<'a>,
}

/// Plays the matches of a run.
pub trait Executor: Sync {
    /// Plays a match to its end. `None` if it cannot be played now: the run stops, and nothing of it is lost.
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch>;
}

/// Plays in this process.
pub struct LocalExecutor;

impl Executor for LocalExecutor {
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch> {
        Some(local::play_match(order.setup, order.players, order.asking))
    }
}
