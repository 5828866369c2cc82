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

use crate::plan_game::{PlanGame, plan_params};

/// The battle of two teams of elemental characters.
pub type ElementalDuel = PlanGame<ElementalDuelEngine>;

/// The engine: skills, simulator and action ids under one set of parameters.
pub struct ElementalDuelEngine {
    settings: BattleSettings,
}

/// Choice of the characters that act in a battle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All living characters act in turn.
    #[default]
    Team,
    /// The first living character of each side acts.
    Gauntlet,
}

/// Settings of a battle, without the teams.
#[derive(Clone, Copy, Debug)]
pub struct BattleSettings {
    /// Choice of the characters that act.
    pub mode: Mode,
    /// Initial health of each character, by side.
    pub hp: [u32; 2],
}

plan_params! {
    /// Parameters of rounds, revisions, budgets and health.
    pub struct Params {
        tries = 3;
        /// Initial health of each invader, 1 to 1000.
        #[schemars(range(min = 1, max = 1000))]
        pub hp_invader: u32 = 100,
        /// Initial health of each defender, 1 to 1000.
        #[schemars(range(min = 1, max = 1000))]
        pub hp_defender: u32 = 160,
        /// Characters that act: all living ones (`team`), or only the first living one of each side (`gauntlet`).
        pub mode: Mode = Mode::Team,
    }
}
