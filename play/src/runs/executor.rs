//! Execution of a run's matches, independent of its plan, resume, budgets, verification and reports.

use crate::local::{self, HostOptions, Participant, PlayedMatch};
use crate::machine::interface::MatchSetup;

/// Match requested by a run.
pub struct MatchJob<'a> {
    pub setup: MatchSetup,
    /// Agent of each seat.
    pub players: &'a [&'a Participant],
    /// True for seats whose agent failures count as infrastructure failures, see
    /// [`faults_as_infra`](crate::local::faults_as_infra).
    pub blameless: Vec<bool>,
    /// Options of the host for move requests.
    pub asking: HostOptions<'a>,
}

/// Execution backend for the matches of a run.
pub trait Executor: Sync {
    /// Plays a match to its end. `None` if it cannot be played now: the run stops and can be resumed without loss.
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch>;
}

/// Executor in this process.
pub struct LocalExecutor;

impl Executor for LocalExecutor {
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch> {
        Some(local::play_match(order.setup, order.players, order.asking))
    }
}
