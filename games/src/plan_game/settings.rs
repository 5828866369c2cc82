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

/// Seats that submit a revision after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Revise {
    /// One seat revises after odd rounds, the other seat after even rounds.
    #[default]
    Alternate,
    /// Both seats revise after each round.
    Both,
}

/// Assignment of sides to seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// Each seat has the same side in all rounds.
    #[default]
    Fixed,
    /// Seats swap sides after each round.
    Alternate,
}

/// Information that seats receive after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// Strategies and result of the round.
    #[default]
    Short,
    /// Strategies, result and a summary of the battle.
    Verbose,
}

/// Edition of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// Rules of the published paper.
    #[default]
    Paper,
    /// Rules of the paper's public repository. They apply where the manual lists a difference.
    Repo,
}

/// Parameters of a plan game, declared by `plan_params!`.
pub trait PlanParams {
    /// Returns the parameters common to all plan games.
    fn settings(&self) -> PlanSettings;
}

/// Declares the parameters of a plan game with defaults: the common parameters first, then those of the game.
macro_rules! plan_params {
    (
        $(#[$doc:meta])*
        pub struct $Params:ident {
            tries = $tries:literal;
            $($(#[$attribute:meta])* pub $name:ident: $Type:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Params {
            /// Number of rounds: one (duel), or several with revisions (match).
            pub format: $crate::plan_game::RoundFormat,
            /// Number of rounds of a match, 1 to 50.
            #[schemars(range(min = 1, max = 50))]
            pub rounds: u32,
            /// Seats that revise after a round: alternately one seat, or both.
            pub revise: $crate::plan_game::Revise,
            /// The seat that revises after odd rounds if revise=alternate.
            #[schemars(range(min = 0, max = 1))]
            pub first: u32,
            /// Assignment of sides to seats; swapping sides after each round needs format=match and revise=both.
            pub roles: $crate::plan_game::Roles,
            /// Factor applied to both budgets, 0.5 to 4.
            #[schemars(range(min = 0.5, max = 4.0))]
            pub budget_scale: f64,
            /// Maximum number of initial documents over budget that a seat may submit, 1 to 9.
            #[schemars(range(min = 1, max = 9))]
            pub tries: u32,
            /// Information after a round; `verbose` adds a summary of the battle.
            pub feedback: $crate::plan_game::Feedback,
            $($(#[$attribute])* pub $name: $Type,)*
        }

        impl Default for $Params {
            fn default() -> Self {
                $Params {
                    format: Default::default(),
                    rounds: 10,
                    revise: Default::default(),
                    first: 0,
                    roles: Default::default(),
                    budget_scale: 1.0,
                    tries: $tries,
                    feedback: Default::default(),
                    $($name: $default,)*
                }
            }
        }

        impl $crate::plan_game::PlanParams for $Params {
            fn settings(&self) -> $crate::plan_game::PlanSettings {
                let &$Params { format, rounds, revise, first, roles, budget_scale, tries, feedback, .. } = self;
                $crate::plan_game::PlanSettings { format, rounds, revise, first, roles, budget_scale, tries, feedback }
            }
        }
    };
}
pub(crate) use plan_params;

/// The parameters common to all plan games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// One round or several.
    pub format: RoundFormat,
    /// Number of rounds of a match, 1 to 50.
    pub rounds: u32,
    /// Seats that submit a revision after a round.
    pub revise: Revise,
    /// Seat that revises after odd rounds, if seats alternate.
    pub first: u32,
    /// Assignment of sides to seats.
    pub roles: Roles,
    /// Factor applied to both budgets, 0.5 to 4.
    pub budget_scale: f64,
    /// Maximum number of initial documents over budget that a seat may submit, 1 to 9.
    pub tries: u32,
    /// Information that seats receive after a round.
    pub feedback: Feedback,
}

impl PlanSettings {
    /// Checks that the settings can be combined.
    ///
    /// # Errors
    /// Returns an error for the first invalid parameter.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.roles == Roles::Alternate && (self.format, self.revise) != (RoundFormat::Match, Revise::Both) {
            return Err(ParamError::value("roles", "alternate", "fixed; alternate needs format=match and revise=both"));
        }
        Ok(())
    }

    /// Returns the number of rounds in the match.
    pub fn length(&self) -> u32 {
        if self.format == RoundFormat::Duel { 1 } else { self.rounds }
    }

    /// Returns the budget `base` scaled by the factor in these settings.
    pub fn budget(&self, base: u32) -> u32 {
        (f64::from(base) * self.budget_scale + 0.5) as u32
    }
}
