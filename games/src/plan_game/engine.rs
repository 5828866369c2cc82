//! The parts of a plan game that differ between games.

use std::fmt::Debug;
use std::hash::Hash;

use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink, GameInfo};
use ludex_env::params::ParamError;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use smallvec::SmallVec;

use super::log::BattleLog;
use super::settings::PlanParams;

/// One of the two sides, 0 or 1.
pub type Side = usize;

/// Action ids chosen so far for an incomplete piece.
pub type PartialPiece = SmallVec<[Action; 4]>;

/// Result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BattleEnd {
    /// Side that won the battle.
    pub winner: Side,
    /// Reason why the battle ended, as one word.
    pub reason: &'static str,
    /// Length of the battle, in the time steps of the game.
    pub length: u32,
    /// Value of the battle to each side.
    pub value: [f64; 2],
}

/// A strategy parsed from a document.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedPlan<P> {
    /// The plan; `None` if the document cannot be expressed as a plan. It may be incomplete or over budget.
    pub plan: Option<P>,
    /// Total cost of the pieces with known names.
    pub cost: u32,
    /// All violations, in the order of the game's documentation page.
    pub violations: Vec<&'static str>,
}

/// Anchor ladder that all plan games share.
pub(crate) const LADDER: &[(u32, u32, &str)] =
    &[(0, 1, "random"), (1, 1, "sound_plan"), (2, 1, "best_answer"), (3, 1, "hill_climber")];

/// One piece of a plan, for similarity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanPiece {
    /// Kind of the piece: an index in its side's table.
    pub kind: u32,
    /// Board cell, skill slot or tier of the piece, depending on the game. Pieces that differ only in the time at which
    /// they appear have the same place.
    pub place: u32,
    /// Cost in points of the budget.
    pub cost: u32,
    /// Roles of the piece, as listed on the game's documentation page.
    pub roles: &'static [&'static str],
}

/// Tables, checker, simulator and catalogue of one plan game.
pub trait PlanEngine: Sized + Send + Sync + 'static {
    /// Typed parameters, declared by `plan_params!`; see [`Game::Params`](ludex_env::game::Game::Params).
    type Params: PlanParams + Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// A legal plan, or a partial plan during construction. The default plan is empty.
    type Plan: Clone + Default + PartialEq + Eq + Hash + Debug + Send + Sync + 'static;

    /// Identity, texts and ladder of the game. The marks are the same for every plan game.
    const INFO: GameInfo;
    /// Names of the sides.
    const SIDES: [&'static str; 2];
    /// Budgets of the sides at scale 1.
    const BUDGETS: [u32; 2];
    /// Number of action ids.
    const ACTIONS: u32;
    /// Number of cells in the array of a strategy.
    const CELLS: u32;
    /// Definition of the [mark](ludex_env::marks::Mark) `value` of each round and seat, for the table of marks on the
    /// game's page.
    const VALUE: &'static str;
    /// Definition of the mark `structural`, with the definition of a piece.
    const STRUCTURAL: &'static str;
    /// Short summary of the rules, for texts of views.
    const RULES: &'static str;

    /// Creates the game with these parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter specific to this game is out of range.
    fn new(params: &Self::Params) -> Result<Self, ParamError>;
    /// Returns the maximum number of action ids for one plan, `submit` included. `budget` is that of side 0.
    fn most_steps(budget: u32) -> u32;

    /// Returns the fields of a strategy document as JSON Schema properties; the first field is required.
    fn fields(side: Side) -> Vec<(&'static str, Value)>;
    /// Parses a document that matches the schema.
    fn read(&self, side: Side, budget: u32, document: &Value) -> ParsedPlan<Self::Plan>;
    /// Returns the canonical document of a plan.
    fn document(&self, side: Side, plan: &Self::Plan) -> Value;
    /// Returns the cost of a plan or partial plan.
    fn cost(&self, side: Side, plan: &Self::Plan) -> u32;

    /// Returns the pieces of a plan.
    fn pieces(&self, side: Side, plan: &Self::Plan) -> Vec<PlanPiece>;

    /// Adds the action ids that may come next, in ascending order. All ids are at least 2.
    fn choices(&self, side: Side, budget: u32, plan: &Self::Plan, begun: &[Action], out: &mut impl ActionSink);
    /// Applies an action id. Must not panic, even on an illegal id.
    fn choose(&self, side: Side, plan: &mut Self::Plan, begun: &mut PartialPiece, a: Action);
    /// Returns true if the plan can be submitted without further pieces.
    fn complete(&self, plan: &Self::Plan) -> bool;
    /// Returns the name of an action id of at least 2.
    fn action_text(&self, side: Side, a: Action) -> String;
    /// Explains an action id that follows the chosen ids of the current piece. Empty if the name suffices.
    fn gloss(&self, _side: Side, _begun: &[Action], _a: Action) -> String {
        String::new()
    }

    /// Simulates the battle between the plans of side 0 and side 1.
    fn simulate(&self, plans: [&Self::Plan; 2], budgets: [u32; 2], log: &mut impl BattleLog) -> BattleEnd;
    /// Samples a random plan.
    fn random(&self, side: Side, budget: u32, rng: &mut Stream) -> Self::Plan;
    /// Returns a legal plan within the budget that differs from `plan` in a few pieces.
    fn vary(&self, side: Side, budget: u32, plan: &Self::Plan, rng: &mut Stream) -> Self::Plan;
    /// Returns a fixed example plan of at most three units. It costs at most half of the budget at scale 1.
    fn example(&self, side: Side) -> Self::Plan;
    /// Returns the name and the catalogue line of each kind available to a side.
    fn catalogue(&self, side: Side) -> Vec<(&'static str, String)>;
    /// Writes a plan into an array of [`CELLS`](PlanEngine::CELLS) cells, initially 0.
    fn encode(&self, side: Side, plan: &Self::Plan, out: &mut [u8]);
}
