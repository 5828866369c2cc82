#![doc = include_str!("elemental_duel.md")]

mod engine;
mod simulate;
mod skills;
mod team;
#[cfg(test)]
mod tests;

pub use simulate::simulate;
pub use skills::{ELEMENTS, KINDS, NAMES, SKILLS};
pub use team::{Piece, Team, cost, random};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan_game::{Feedback, PlanGame, Revise, Roles, RoundFormat};

/// The game.
pub type ElementalDuel = PlanGame<ElementalDuelEngine>;

/// Skills, simulator and ids under given terms.
pub struct ElementalDuelEngine {
    terms: Terms,
}

/// Who acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All characters.
    #[default]
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

/// Rounds, revisions, budgets, health.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// One round (duel), or several with revisions (match).
    pub format: RoundFormat,
    /// Rounds of a match, 1 to 50.
    #[schemars(range(min = 1, max = 50))]
    pub rounds: u32,
    /// Who revises after a round: the seats in turn, or both.
    pub revise: Revise,
    /// The seat that revises after odd rounds, with revise=alternate.
    #[schemars(range(min = 0, max = 1))]
    pub first: u32,
    /// Whether the sides swap after each round; only with format=match and revise=both.
    pub roles: Roles,
    /// What the budgets are multiplied by, 0.5 to 4.
    #[schemars(range(min = 0.5, max = 4.0))]
    pub budget_scale: f64,
    /// Initial documents that a seat may send while they are over budget, 1 to 9.
    #[schemars(range(min = 1, max = 9))]
    pub tries: u32,
    /// Whether a summary of each battle is shown (verbose).
    pub feedback: Feedback,
    /// Health of each invader, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub hp_invader: u32,
    /// Health of each defender, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub hp_defender: u32,
    /// Whether all characters act (team), or the first living one of each side (gauntlet).
    pub mode: Mode,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            format: RoundFormat::Duel,
            rounds: 10,
            revise: Revise::Alternate,
            first: 0,
            roles: Roles::Fixed,
            budget_scale: 1.0,
            tries: 3,
            feedback: Feedback::Short,
            hp_invader: 100,
            hp_defender: 160,
            mode: Mode::Team,
        }
    }
}
