#![doc = include_str!("tower_defense.md")]

mod engine;
mod plan;
mod simulate;
#[cfg(test)]
mod tests;
mod units;

pub use plan::{MOST, Piece, random};
pub use simulate::simulate;
pub use units::{DEMONS, HUMANS};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan_game::{Feedback, PlanGame, Revise, Roles, RoundFormat};

/// The game.
pub type TowerDefense = PlanGame<TowerDefenseEngine>;

/// Milliseconds of a tick.
pub const TICK: i32 = 50;

/// Units, simulator and ids under given rules.
pub struct TowerDefenseEngine {
    rules: Rules,
}

/// Which rules are played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// Those of the paper.
    #[default]
    Paper,
    /// Those of its public repository, where the page lists a difference.
    Repo,
}

/// Rounds, revisions, budgets, rules.
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
    /// The paper's rules, or those of its public repository.
    pub rules: Rules,
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
            tries: 5,
            feedback: Feedback::Short,
            rules: Rules::Paper,
        }
    }
}
