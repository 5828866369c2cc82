//! Execution of a run's matches. Plan, resume, budgets, verification and reports do not depend on the executor.

use crate::local::{self, HostOptions, Participant, PlayedMatch};
use crate::machine::interface::MatchSetup;
use crate::machine::known_answers::KnownAnswers;

/// Match that a run passes to an executor.
pub struct MatchJob<'a> {
    pub setup: MatchSetup,
    /// Agents, one per seat.
    pub players: &'a [&'a Participant],
    /// True for each seat whose agent's failures count as infrastructure failures, see
    /// [`faults_as_infra`](crate::local::faults_as_infra).
    pub blameless: Vec<bool>,
    /// Earlier answers of the client on each seat, which the host plays again; empty for agents of this program, which
    /// remember their answers themselves.
    pub known: Vec<KnownAnswers>,
    /// Options for the host's move requests to agents.
    pub asking: HostOptions<'a>,
}

/// Execution backend for the matches of a run.
pub trait Executor: Sync {
    /// Plays a match to its end. Returns `None` if the match cannot be played at present; the run then stops and can be
    /// resumed later.
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch>;

    /// Returns true if the match is in progress although no call of [`play`](Self::play) waits for it, as after a restart.
    fn is_live(&self, _episode: &str) -> bool {
        false
    }

    /// Returns the maximum number of concurrent matches of a player, by name; `None`: without limit.
    fn slots(&self, _player: &str) -> Option<usize> {
        None
    }
}

/// Executor that plays matches in this process.
pub struct LocalExecutor;

impl Executor for LocalExecutor {
    fn play(&self, order: MatchJob<'_>) -> Option<PlayedMatch> {
        Some(local::play_match(order.setup, order.players, order.asking))
    }
}
