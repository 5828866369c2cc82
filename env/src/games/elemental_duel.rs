//! Elemental duel.

mod simulate;
mod skills;
mod team;
#[cfg(test)]
mod tests;

pub use simulate::simulate;
pub use skills::{ELEMENTS, KINDS, NAMES, SKILLS};
pub use team::{Piece, Team, cost, random};

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All characters.
    Team,
    /// The first living character of each side.
    Gauntlet,
}

/// What a battle depends on beside the teams.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Who acts.
    pub mode: Mode,
    /// Health of each character, by side.
    pub hp: [u32; 2],
}
