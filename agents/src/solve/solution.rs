//! Interface between `solver` and the modules of solved games.

use ludex_env::{Action, MoveRequest, Stream};

use crate::error::AgentError;

/// Solution of a game.
pub(super) trait Solution: Send + Sync {
    /// Returns the optimal moves, all of which are legal and equally good; never empty.
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError>;
}

/// Solution of a game; or the reason why the game is not solved, and the supported alternatives.
pub(super) type SolutionResult = Result<Box<dyn Solution>, (&'static str, &'static str)>;

/// Samples an index by probabilities that sum to 1. If rounding makes their sum slightly less than 1, the remainder
/// counts for the last index.
pub(super) fn sample_index(shares: &[f64], rng: &mut Stream) -> usize {
    let mut left = rng.unit();
    let drawn = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    drawn.unwrap_or(shares.len() - 1)
}
