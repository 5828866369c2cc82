//! Specifications of games: the reply to `describe`, and the source of the rules hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of a game by name; values are plain JSON.
pub type Params = serde_json::Map<String, Value>;

/// Order of moves in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dynamics {
    /// One seat moves at a time.
    #[default]
    Sequential,
    /// All decisions are joint moves of several seats.
    Simultaneous,
    /// Single and joint moves both occur.
    Mixed,
}

/// Kind of chance in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChanceMode {
    /// No randomness in the game.
    #[default]
    Deterministic,
    /// Chance nodes with listed outcomes and probabilities.
    Explicit,
    /// Chance outcomes that can be sampled but not listed.
    Sampled,
}

/// Perfect or imperfect information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Information {
    /// Every seat observes the complete state.
    #[default]
    Perfect,
    /// Some information is hidden from some seat.
    Imperfect,
}

/// Relation between the returns of the seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Utility {
    /// Returns sum to zero.
    #[default]
    ZeroSum,
    /// Returns sum to a constant.
    ConstantSum,
    /// Returns satisfy no fixed relation.
    GeneralSum,
    /// All seats get the same return.
    Identical,
}

/// Time at which rewards are given.
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

/// Wire form of legal actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegalForm {
    /// An ascending list of action ids.
    #[default]
    Ids,
    /// A list of inclusive ranges `[lo, hi]`, for games with thousands of legal actions.
    Ranges,
}

/// Element type of a tensor, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// Unsigned 8-bit integer (`u8`).
    U1,
    /// Signed 8-bit integer (`i8`).
    I1,
    /// Signed 16-bit integer (`i16`).
    I2,
    /// Signed 32-bit integer (`i32`).
    I4,
    /// IEEE 754 single-precision float (`f32`).
    F4,
}

impl Dtype {
    /// Returns the size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            Dtype::U1 | Dtype::I1 => 1,
            Dtype::I2 => 2,
            Dtype::I4 | Dtype::F4 => 4,
        }
    }
}

/// A named range of a tensor along its first axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Name of the content, e.g. `mine`.
    pub name: String,
    /// First index on axis 0.
    pub at: u32,
    /// Number of indices on axis 0.
    pub len: u32,
}

/// Shape and content of one array of a view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TensorSpec {
    /// Type of the elements.
    pub d: Dtype,
    /// Shape, in C order.
    pub s: Vec<u32>,
    /// Least value of any element.
    pub low: f64,
    /// Greatest value of any element.
    pub high: f64,
    /// Named parts along axis 0, in order and without gaps.
    pub parts: Vec<Part>,
}

impl TensorSpec {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.s.iter().map(|&n| n as usize).product()
    }

    /// Returns true if the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size of the array in bytes.
    pub fn bytes(&self) -> usize {
        self.len() * self.d.size()
    }
}

/// The views that a game supports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Views {
    /// Observation arrays from the seat's perspective, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<BTreeMap<String, TensorSpec>>,
    /// JSON Schema of the structured view.
    #[serde(rename = "struct")]
    pub structure: Value,
    /// True if there is a text view; always true, present for compatibility.
    pub text: bool,
    /// Arrays of the perfect-recall information state, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<BTreeMap<String, TensorSpec>>,
    /// Layouts available for the tensor.
    pub layouts: Vec<String>,
}

/// A named set of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preset {
    /// Parameters that the preset sets.
    pub params: Params,
    /// One-line description: differences from the defaults, and source of the parameters.
    pub note: String,
}

/// An anchor of a game's ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anchor {
    /// Level on the ladder; 0: random.
    pub level: u32,
    /// Number of the bot within its level, from 1.
    pub bot: u32,
    /// Agent spec of the anchor.
    pub agent: String,
    /// Measured rating; absent if the anchor has not been measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// Lower end of the rating's confidence interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the rating's confidence interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The specification of a game with given parameters.
///
/// Absent fields have default values, so that client and server may have different versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Spec {
    /// Id of the game.
    pub game: String,
    /// Title of the game for display.
    pub title: String,
    /// Complete parameters, including defaults.
    pub params: Params,
    /// Canonical game string, e.g. `connect_four(rows=6,columns=7,...)`.
    pub string: String,
    /// Version of the rules.
    pub rules: u32,
    /// Rules hash: hex digest over rules, parameters, action ids and views. Policies and records are compatible if the
    /// hashes are equal.
    pub hash: String,
    /// Number of seats under these parameters.
    pub players: u32,
    /// Least and greatest number of seats over all parameters.
    pub player_range: [u32; 2],
    /// Names of the seats, in seat order.
    pub seats: Vec<String>,
    /// Order of moves: sequential, simultaneous or mixed.
    pub dynamics: Dynamics,
    /// Kind of chance in the game.
    pub chance: ChanceMode,
    /// Perfect or imperfect information.
    pub information: Information,
    /// Relation between the seats' returns.
    pub utility: Utility,
    /// Time at which rewards are given.
    pub rewards: RewardModel,
    /// Least possible return of a seat.
    pub min_return: f64,
    /// Greatest possible return of a seat.
    pub max_return: f64,
    /// Upper bound on the moves of an episode. A joint move counts once; chance outcomes do not count.
    pub max_length: u32,
    /// Number A of action ids; the ids are 0 to A - 1.
    pub actions: u32,
    /// Exclusive upper bound on chance outcome ids; 0 without chance.
    pub max_chance: u32,
    /// Wire form of legal actions.
    pub legal: LegalForm,
    /// Views that the game supports.
    pub views: Views,
    /// JSON Schemas of documents by phase, for games whose moves are documents or utterances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_schemas: Option<BTreeMap<String, Value>>,
    /// JSON Schema of the parameters.
    pub params_schema: Value,
    /// Named sets of parameters, by name.
    pub presets: BTreeMap<String, Preset>,
    /// Anchors of the ladder, in ascending order of level.
    pub anchors: Vec<Anchor>,
    /// Rules page in Markdown, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
