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

/// The tower defense battle of two plans.
pub type TowerDefense = PlanGame<TowerDefenseEngine>;

/// Duration of a tick in milliseconds.
pub const TICK: i32 = 50;

/// Units, simulator and ids under given rules.
pub struct TowerDefenseEngine {
    rules: Rules,
}

/// Edition of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// Rules of the published paper.
    #[default]
    Paper,
    /// Rules of its public repository, where the manual lists a difference.
    Repo,
}

/// Parameters of rounds, revisions, budgets and rules.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// One round (duel), or several with revisions (match).
    pub format: RoundFormat,
    /// Rounds of a match, 1 to 50.
    #[schemars(range(min = 1, max = 50))]
    pub rounds: u32,
    /// Seats that revise after a round: one in turn, or both.
    pub revise: Revise,
    /// The seat that revises after odd rounds, with revise=alternate.
    #[schemars(range(min = 0, max = 1))]
    pub first: u32,
    /// If set to swap, the sides swap after each round; needs format=match and revise=both.
    pub roles: Roles,
    /// Factor on the budgets, 0.5 to 4.
    #[schemars(range(min = 0.5, max = 4.0))]
    pub budget_scale: f64,
    /// Maximum number of initial documents of a seat that may exceed the budget, 1 to 9.
    #[schemars(range(min = 1, max = 9))]
    pub tries: u32,
    /// Feedback on each battle; verbose includes a summary.
    pub feedback: Feedback,
    /// Edition of the rules: the paper's, or that of its public repository.
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
