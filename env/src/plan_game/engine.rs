//! What a game of plans gives to the frame.

use std::fmt::Debug;
use std::hash::Hash;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use smallvec::SmallVec;

use super::log::BattleLog;
use super::settings::PlanSettings;
use crate::draw::Stream;
use crate::game::{Action, ActionSink, PresetText};
use crate::params::ParamError;

/// One of the two sides: 0 or 1.
pub type Side = usize;

/// Ids of a piece that is not complete yet.
pub type PartialPiece = SmallVec<[Action; 4]>;

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BattleEnd {
    /// The side that won.
    pub winner: Side,
    /// Why, in one word.
    pub reason: &'static str,
    /// How long it took, in the game's own steps.
    pub length: u32,
    /// What the round was worth to either side.
    pub value: [f64; 2],
}

/// A strategy that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedPlan<P> {
    /// The plan, if a plan can say it; it may be incomplete or over budget.
    pub plan: Option<P>,
    /// What its known names cost.
    pub cost: u32,
    /// All that is violated, in the order of the game's page.
    pub violations: Vec<&'static str>,
}

/// The ladder of every game of plans.
pub(crate) const LADDER: &[(u32, u32, &str)] =
    &[(0, 1, "random"), (1, 1, "sound_plan"), (2, 1, "best_answer"), (3, 1, "hill_climber")];

/// One piece of a plan as similarities count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanPiece {
    /// What it is: its place in the table of its side.
    pub kind: u32,
    /// Where it is, or in which form; not when.
    pub place: u32,
    /// What it costs.
    pub cost: u32,
    /// What it is for.
    pub roles: &'static [&'static str],
}

/// The tables, the checker, the simulator and the catalogue of one game.
pub trait PlanEngine: Sized + Send + Sync + 'static {
    /// Typed parameters, as [`Game::Params`](crate::game::Game::Params).
    type Params: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// A plan that violates nothing, or a part of one while it is built. The default is the empty one.
    type Plan: Clone + Default + PartialEq + Eq + Hash + Debug + Send + Sync + 'static;

    /// As the constants of [`Game`](crate::game::Game).
    const ID: &'static str;
    /// The title for people.
    const TITLE: &'static str;
    /// The game's page.
    const PAGE: &'static str;
    /// As [`Game::MANUAL`](crate::Game::MANUAL).
    const MANUAL: &'static str;
    /// The presets.
    const PRESETS: &'static [PresetText];
    /// The ladder.
    const LADDER: &'static [(u32, u32, &'static str)];
    /// The names of the sides.
    const SIDES: [&'static str; 2];
    /// The budgets at scale 1.
    const BUDGETS: [u32; 2];
    /// Number of ids.
    const ACTIONS: u32;
    /// The array of a strategy: how many cells it has.
    const CELLS: u32;
    /// How the mark `value` of a round is found.
    const VALUE: &'static str;
    /// How the mark `structural` is found, with what makes a piece.
    const STRUCTURAL: &'static str;
    /// The rules in a few sentences, for the text of a view.
    const RULES: &'static str;

    /// The game with these parameters.
    ///
    /// # Errors
    /// A parameter of the game's own that is out of its range.
    fn new(params: &Self::Params) -> Result<Self, ParamError>;
    /// What the frame needs of the parameters.
    fn terms(params: &Self::Params) -> PlanSettings;
    /// The most ids of one plan, with `submit`, under this budget of side 0.
    fn most_steps(budget: u32) -> u32;

    /// The fields of a strategy as properties of a JSON Schema; the first one is required.
    fn fields(side: Side) -> Vec<(&'static str, Value)>;
    /// Reads a document that fits the schema.
    fn read(&self, side: Side, budget: u32, document: &Value) -> ParsedPlan<Self::Plan>;
    /// The canonical document of a plan.
    fn document(&self, side: Side, plan: &Self::Plan) -> Value;
    /// What a plan, or a part of it, costs.
    fn cost(&self, side: Side, plan: &Self::Plan) -> u32;

    /// The pieces of a plan.
    fn pieces(&self, side: Side, plan: &Self::Plan) -> Vec<PlanPiece>;

    /// The ids that may follow, ascending; none of them is below 2.
    fn choices(&self, side: Side, budget: u32, plan: &Self::Plan, begun: &[Action], out: &mut impl ActionSink);
    /// Takes an id. Must not panic on any.
    fn choose(&self, side: Side, plan: &mut Self::Plan, begun: &mut PartialPiece, a: Action);
    /// Whether a plan may be submitted as it is.
    fn complete(&self, plan: &Self::Plan) -> bool;
    /// The name of an id of 2 or more.
    fn action_text(&self, side: Side, a: Action) -> String;
    /// What an id means after those of the piece that is being chosen; empty where its name tells it.
    fn gloss(&self, _side: Side, _begun: &[Action], _a: Action) -> String {
        String::new()
    }

    /// Plays the plans of side 0 and side 1.
    fn simulate(&self, plans: [&Self::Plan; 2], budgets: [u32; 2], log: &mut impl BattleLog) -> BattleEnd;
    /// A random plan.
    fn random(&self, side: Side, budget: u32, rng: &mut Stream) -> Self::Plan;
    /// A plan that differs from a legal one in a place or two, and is legal within the budget.
    fn vary(&self, side: Side, budget: u32, plan: &Self::Plan, rng: &mut Stream) -> Self::Plan;
    /// A fixed plan that costs at most half of the budget at scale 1, of at most three units.
    fn example(&self, side: Side) -> Self::Plan;
    /// Every kind that a side can use: its name, and its line of the catalogue.
    fn catalogue(&self, side: Side) -> Vec<(&'static str, String)>;
    /// Writes a plan as an array of [`CELLS`](Craft::CELLS) cells, which are 0.
    fn encode(&self, side: Side, plan: &Self::Plan, out: &mut [u8]);
}
