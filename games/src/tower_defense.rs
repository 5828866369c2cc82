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

pub use crate::plan_game::Rules;
use crate::plan_game::{PlanGame, plan_params};

/// The tower defense battle of two plans.
pub type TowerDefense = PlanGame<TowerDefenseEngine>;

/// Duration of a tick in milliseconds.
pub const TICK: i32 = 50;

/// Units, simulator and ids under given rules.
pub struct TowerDefenseEngine {
    rules: Rules,
}

plan_params! {
    /// Parameters of rounds, revisions, budgets and rules.
    pub struct Params {
        tries = 5;
        /// Edition of the rules: the paper's, or that of its public repository.
        pub rules: Rules = Rules::Paper,
    }
}
