#![doc = include_str!("battle_cards.md")]

mod cards;
mod engine;
mod simulate;
mod team;
#[cfg(test)]
mod tests;

pub use cards::{CARDS, KINDS};
pub use simulate::simulate;
pub use team::{MOST, Piece, Team, random};

pub use crate::plan_game::Rules;
use crate::plan_game::{PlanGame, plan_params};

/// The card battle of two teams.
pub type BattleCards = PlanGame<BattleCardsEngine>;

/// The engine: cards, simulator and action ids under one edition of the rules.
pub struct BattleCardsEngine {
    rules: Rules,
}

plan_params! {
    /// Parameters of rounds, revisions, budgets and rules.
    pub struct Params {
        tries = 3;
        /// Edition of the rules: the paper's or its public repository's.
        pub rules: Rules = Rules::Paper,
    }
}
