//! Tower defence.

mod plan;
mod simulate;
#[cfg(test)]
mod tests;
mod units;

pub use plan::{Piece, random};
pub use simulate::{MOST, simulate};
pub use units::{DEMONS, HUMANS};

/// Milliseconds of a tick.
pub const TICK: i32 = 50;

/// Which rules are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Those of the paper.
    Paper,
    /// Those of its public repository.
    Repo,
}
