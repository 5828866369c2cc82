//! Parameters common to all plan games.

use ludex_env::params::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of rounds: one, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundFormat {
    /// A single round without revisions.
    #[default]
    Duel,
    /// Several rounds with revisions between them.
    Match,
}

/// Seats that revise after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Revise {
    /// One seat after odd rounds, the other after even ones.
    #[default]
    Alternate,
    /// Both seats after each round.
    Both,
}

/// Assignment of sides to seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// The same side in all rounds.
    #[default]
    Fixed,
    /// Sides swapped after each round.
    Alternate,
}

/// Information for the seats after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// Strategies and result of the round.
    #[default]
    Short,
    /// Strategies, result and a summary of the battle.
    Verbose,
}

/// The parameters common to all plan games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// One round or several.
    pub format: RoundFormat,
    /// Rounds of a match, 1 to 50.
    pub rounds: u32,
    /// Seats that revise after a round.
    pub revise: Revise,
    /// Seat that revises after odd rounds.
    pub first: u32,
    /// Assignment of sides to seats.
    pub roles: Roles,
    /// Factor on the budgets, 0.5 to 4.
    pub budget_scale: f64,
    /// Maximum number of initial documents per seat while they are over budget, 1 to 9.
    pub tries: u32,
    /// Information for the seats after a round.
    pub feedback: Feedback,
}

impl PlanSettings {
    /// Checks ranges and combinations.
    ///
    /// # Errors
    /// Returns the invalid parameter.
    pub fn check(&self) -> Result<(), ParamError> {
        let within = |name: &str, got: u32, [least, most]: [u32; 2]| match (least..=most).contains(&got) {
            true => Ok(()),
            false => Err(ParamError::value(name, got, format!("{least} to {most}"))),
        };
        within("rounds", self.rounds, [1, 50])?;
        within("first", self.first, [0, 1])?;
        within("tries", self.tries, [1, 9])?;
        if !(0.5..=4.0).contains(&self.budget_scale) {
            return Err(ParamError::value("budget_scale", self.budget_scale, "0.5 to 4"));
        }
        if self.roles == Roles::Alternate && (self.format, self.revise) != (RoundFormat::Match, Revise::Both) {
            return Err(ParamError::value("roles", "alternate", "alternate only with format=match and revise=both"));
        }
        Ok(())
    }

    /// Returns the number of rounds played.
    pub fn length(&self) -> u32 {
        if self.format == RoundFormat::Duel { 1 } else { self.rounds }
    }

    /// Returns a budget, scaled by these settings.
    pub fn budget(&self, base: u32) -> u32 {
        (f64::from(base) * self.budget_scale + 0.5) as u32
    }
}
