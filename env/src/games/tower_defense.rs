//! Tower defence.

mod simulate;
mod units;

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

/// One unit of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its place in the table of its side.
    pub kind: u8,
    /// 5x + y for a human unit, 55 + y for a demon.
    pub cell: u8,
    /// When it appears: 0 to 1200.
    pub tick: u16,
}
