//! Interface between `solver` and the modules of the solved games.

use ludex_env::{Action, MoveRequest, Stream};

use crate::error::AgentError;

/// Solution of a game.
pub(super) trait Solution: Send + Sync {
    /// Returns the optimal moves, not empty and all legal; any of them is equally good.
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError>;
}

/// Solution; or the reason why the game is not solved, with supported alternatives.
pub(super) type SolutionResult = Result<Box<dyn Solution>, (&'static str, &'static str)>;

/// Samples an index by shares that sum to 1. If rounding leaves the sum slightly below 1, the last index may be
/// returned.
pub(super) fn sample_index(shares: &[f64], rng: &mut Stream) -> usize {
    let mut left = rng.unit();
    let drawn = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    drawn.unwrap_or(shares.len() - 1)
}
