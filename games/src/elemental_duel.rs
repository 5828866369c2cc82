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

/// Skills, simulator and ids under given settings.
pub struct ElementalDuelEngine {
    settings: BattleSettings,
}

/// Selection of the acting characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All characters act in turn.
    #[default]
    Team,
    /// The first living character of each side acts.
    Gauntlet,
}

/// Settings of a battle apart from the teams.
#[derive(Clone, Copy, Debug)]
pub struct BattleSettings {
    /// Selection of the acting characters.
    pub mode: Mode,
    /// Health of each character, by side.
    pub hp: [u32; 2],
}

plan_params! {
    /// Parameters of rounds, revisions, budgets and health.
    pub struct Params {
        tries = 3;
        /// Health of each invader, 1 to 1000.
        #[schemars(range(min = 1, max = 1000))]
        pub hp_invader: u32 = 100,
        /// Health of each defender, 1 to 1000.
        #[schemars(range(min = 1, max = 1000))]
        pub hp_defender: u32 = 160,
        /// Acting characters: all (team), or the first living one of each side (gauntlet).
        pub mode: Mode = Mode::Team,
    }
}
