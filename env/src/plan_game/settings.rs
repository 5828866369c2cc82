//! The parameters that all games of plans have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::ParamError;

/// How many rounds there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundFormat {
    /// One.
    #[default]
    Duel,
    /// Several, with revisions between them.
    Match,
}

/// Who revises after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Revise {
    /// One seat after odd rounds, the other after even ones.
    #[default]
    Alternate,
    /// Both seats after each round.
    Both,
}

/// Which side a seat plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// The same in all rounds.
    #[default]
    Fixed,
    /// The other one after each round.
    Alternate,
}

/// What a seat is told after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// The strategies and the result.
    #[default]
    Short,
    /// A summary of the battle too.
    Verbose,
}

/// The parameters of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// How many rounds there are.
    pub format: RoundFormat,
    /// Rounds of a match, 1 to 50.
    pub rounds: u32,
    /// Who revises.
    pub revise: Revise,
    /// The seat that revises after odd rounds.
    pub first: u32,
    /// Which side a seat plays.
    pub roles: Roles,
    /// What the budgets are multiplied by, 0.5 to 4.
    pub budget_scale: f64,
    /// Initial documents that a seat may send while they are over budget, 1 to 9.
    pub tries: u32,
    /// What a seat is told.
    pub feedback: Feedback,
}

impl PlanSettings {
    /// Checks the ranges, and what goes together.
    ///
    /// # Errors
    /// The parameter at fault.
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

    /// Rounds that are played.
    pub fn length(&self) -> u32 {
        if self.format == RoundFormat::Duel { 1 } else { self.rounds }
    }

    /// A budget of these terms.
    pub fn budget(&self, base: u32) -> u32 {
        (f64::from(base) * self.budget_scale + 0.5) as u32
    }
}
