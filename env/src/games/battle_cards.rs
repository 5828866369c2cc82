//! Battle cards.

mod cards;
mod simulate;
mod team;
#[cfg(test)]
mod tests;

pub use cards::{CARDS, KINDS};
pub use simulate::{MOST, simulate};
pub use team::{Piece, Team, random};

/// Which rules are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Those of the paper.
    Paper,
    /// Those of its public repository.
    Repo,
}
