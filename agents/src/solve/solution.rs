//! What `solver` asks of the file of a game.

use ludex_env::{Action, MoveRequest, Stream};

use crate::error::AgentError;

/// The solution of a game.
pub(super) trait Solution: Send + Sync {
    /// The moves to choose from, not empty and all legal; any is as good as another.
    fn best(&self, ask: &MoveRequest<'_>) -> Result<Vec<Action>, AgentError>;
}

/// A solution; or why the game is not solved, and what would fit.
pub(super) type Solved = Result<Box<dyn Solution>, (&'static str, &'static str)>;

/// An index drawn by shares that sum to 1. If they sum to a little less nothing may be drawn: then it is the last.
pub(super) fn sample_index(shares: &[f64], rng: &mut Stream) -> usize {
    let mut left = rng.unit();
    let drawn = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    drawn.unwrap_or(shares.len() - 1)
}
