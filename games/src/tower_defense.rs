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

/// Tower defense: a plan game in which human units defend a field against demons.
pub type TowerDefense = PlanGame<TowerDefenseEngine>;

/// Duration of a tick, in milliseconds.
pub const TICK: i32 = 50;

/// Engine of the tower defense game, with the edition of its rules.
pub struct TowerDefenseEngine {
    rules: Rules,
}

plan_params! {
    /// Parameters of rounds, revisions, budgets and rules.
    pub struct Params {
        tries = 5;
        /// Edition of the rules: that of the paper, or that of its public repository.
        pub rules: Rules = Rules::Paper,
    }
}
