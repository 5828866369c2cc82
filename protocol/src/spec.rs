//! What a game tells about itself: the answer of `describe`, and the source of its hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of a game by name; values are plain JSON.
pub type Params = serde_json::Map<String, Value>;

/// Who moves when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dynamics {
    /// One seat moves at a time.
    #[default]
    Sequential,
    /// Several seats move at once in every decision.
    Simultaneous,
    /// Both kinds of decision occur.
    Mixed,
}

/// What kind of luck there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChanceMode {
    /// None.
    #[default]
    Deterministic,
    /// Chance is a player whose outcomes and probabilities can be listed.
    Explicit,
    /// Chance is drawn, its distribution cannot be listed.
    Sampled,
}

/// Whether every seat sees everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Information {
    /// Nothing is hidden.
    #[default]
    Perfect,
    /// Something is hidden from some seat.
    Imperfect,
}

/// How the returns of the seats relate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Utility {
    /// They sum to zero.
    #[default]
    ZeroSum,
    /// They sum to a constant.
    ConstantSum,
    /// No relation is promised.
    GeneralSum,
    /// All seats get the same.
    Identical,
}

/// When rewards are paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewardModel {
    /// Only at the end of the episode.
    #[default]
    Terminal,
    /// Possibly at every transition.
    Step,
}

/// How legal actions travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegalForm {
    /// An ascending list of ids.
    #[default]
    Ids,
    /// A list of inclusive `[lo, hi]` ranges, for games with thousands of legal ids.
    Ranges,
}

/// Element type of a tensor, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// `u8`.
    U1,
    /// `i8`.
    I1,
    /// `i16`.
    I2,
    /// `i32`.
    I4,
    /// `f32`.
    F4,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::U1 | Dtype::I1 => 1,
            Dtype::I2 => 2,
            Dtype::I4 | Dtype::F4 => 4,
        }
    }
}

/// A named stretch of a tensor along its first axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// What it shows, e.g. `mine`.
    pub name: String,
    /// First index on axis 0.
    pub at: u32,
    /// How many indices on axis 0.
    pub len: u32,
}

/// Shape and meaning of one array of a view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorSpec {
    /// Element type.
    pub d: Dtype,
    /// Shape, C order.
    pub s: Vec<u32>,
    /// Least value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// Named parts along axis 0, in order, without gaps.
    pub parts: Vec<Part>,
}

impl TensorSpec {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.s.iter().map(|&n| n as usize).product()
    }

    /// Whether the array has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.len() * self.d.size()
    }
}

/// In which forms a game can be seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Views {
    /// The egocentric observation, by array name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<BTreeMap<String, TensorSpec>>,
    /// JSON Schema of the structured view.
    #[serde(rename = "struct")]
    pub structure: Value,
    /// Whether there is a text view (there always is; kept for clients that ask).
    pub text: bool,
    /// The perfect-recall information state, by array name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<BTreeMap<String, TensorSpec>>,
    /// Layouts of the tensor that can be asked for.
    pub layouts: Vec<String>,
}

/// A named set of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preset {
    /// The parameters that it sets.
    pub params: Params,
    /// What it changes and whose it is, in one line.
    pub note: String,
}

/// One rung of a game's ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anchor {
    /// Level, 0 = random.
    pub level: u32,
    /// Which bot of the level, from 1.
    pub bot: u32,
    /// The agent spec that plays it.
    pub agent: String,
    /// Calibrated rating, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// Lower end of the rating's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the rating's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// Everything a client may want to know about a game with given parameters.
///
/// A reader takes an absent field for its default, so that client and server may be of different versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Spec {
    /// Game id.
    pub game: String,
    /// Title for people.
    pub title: String,
    /// Complete parameters, defaults filled in.
    pub params: Params,
    /// Canonical game string, e.g. `connect_four(rows=6,columns=7,...)`.
    pub string: String,
    /// Rules version.
    pub rules: u32,
    /// Hex over rules, parameters, action ids and views; equal hash = policies and records carry over.
    pub hash: String,
    /// Number of seats.
    pub players: u32,
    /// Least and greatest number of seats over all parameters.
    pub player_range: [u32; 2],
    /// Names of the seats, in seat order.
    pub seats: Vec<String>,
    /// Who moves when.
    pub dynamics: Dynamics,
    /// What kind of luck there is.
    pub chance: ChanceMode,
    /// Whether anything is hidden.
    pub information: Information,
    /// How returns relate.
    pub utility: Utility,
    /// When rewards are paid.
    pub rewards: RewardModel,
    /// Least possible return of a seat.
    pub min_return: f64,
    /// Greatest possible return of a seat.
    pub max_return: f64,
    /// Bound on the moves of an episode (a joint move is one, chance none).
    pub max_length: u32,
    /// Number of action ids, A: ids are `0..A`.
    pub actions: u32,
    /// Bound on chance outcome ids, 0 without chance.
    pub max_chance: u32,
    /// How legal actions travel.
    pub legal: LegalForm,
    /// Forms of the view.
    pub views: Views,
    /// JSON Schema per phase for games whose moves are documents or speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposals: Option<BTreeMap<String, Value>>,
    /// JSON Schema of the parameters.
    pub params_schema: Value,
    /// Named parameter sets.
    pub presets: BTreeMap<String, Preset>,
    /// The ladder.
    pub anchors: Vec<Anchor>,
    /// The rules page (Markdown), when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
