//! What clients send in the gym plane: environments opened, stepped, looked at, copied.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::Bytes;
use crate::column::Column;
use crate::fields::{is_default, is_one, one, or_default, or_one};
use crate::moves::Move;
use crate::spec::Params;

/// How seats change from episode to episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rotate {
    /// They do not.
    #[default]
    None,
    /// In episode e seat k is played by entry (k + e) mod P of the list.
    Cycle,
    /// As `cycle`, with a shift drawn from the episode's key.
    Random,
}

/// Who decides chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChanceBy {
    /// The server draws, by the seed.
    #[default]
    Server,
    /// The client acts at chance nodes.
    Client,
}

/// What happens to an environment whose episode is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Autoreset {
    /// The next step starts the new episode; its action is ignored.
    #[default]
    NextStep,
    /// The step that ends the episode starts the new one.
    SameStep,
    /// Only `reset` starts a new one.
    Disabled,
}

/// A form in which the gym plane shows a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GymView {
    /// The egocentric observation.
    Tensor,
    /// The perfect-recall information state.
    Info,
    /// The structured view.
    Struct,
    /// The text view.
    Text,
    /// The sum of rewards of the episode so far.
    Returns,
}

/// The form in which a batch carries the legal actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaskForm {
    /// One byte per action.
    U1,
    /// One bit per action, least significant first, rows padded to bytes.
    Bits,
    /// Offsets and ascending ids.
    Ids,
    /// Not at all.
    None,
}

/// Whose views a batch carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// The acting seat's: one row per environment.
    #[default]
    Acting,
    /// Every seat's: one row per environment and seat.
    All,
}

/// What an illegal action does in the gym plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnIllegal {
    /// The whole call is refused and nothing has moved.
    #[default]
    Refuse,
    /// The offender's episode ends with its least return.
    Lose,
}

/// `open`: `count` environments of one game under one handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Open {
    /// Game id, or the whole game string.
    pub game: String,
    /// Parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// How many environments.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Who plays each seat: `"agent"` (the client) or an agent spec. Absent: all seats are the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
    /// How seats change from episode to episode.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rotate: Rotate,
    /// Who decides chance.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub chance: ChanceBy,
    /// What happens when an episode is over.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub autoreset: Autoreset,
    /// What batches show. Absent: `tensor`, left out where the game has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<GymView>>,
    /// Layout of the tensor: `ludex`, or one that the spec lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Form of the masks. Absent: `u1` up to 512 actions, else `ids`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskForm>,
    /// Whose views batches carry.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub observer: Observer,
    /// What an illegal action does.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub on_illegal: OnIllegal,
    /// Truncates episodes after so many moves of seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Keep episode records.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub record: bool,
}

impl Open {
    /// One environment of a game, everything else by default.
    pub fn new(game: impl Into<String>) -> Self {
        Open {
            game: game.into(),
            params: Params::new(),
            count: 1,
            seats: None,
            rotate: Rotate::default(),
            chance: ChanceBy::default(),
            autoreset: Autoreset::default(),
            views: None,
            layout: None,
            mask: None,
            observer: Observer::default(),
            on_illegal: OnIllegal::default(),
            max_steps: None,
            record: false,
        }
    }
}

/// `reset`: starts episodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Environment i gets this plus i, modulo 2^64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// A seed for each environment named, by position in `envs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Vec<Seed>>,
    /// Who plays each seat from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
}

/// `step`: one action for each environment named. Either `actions` or `moves`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Action ids, R or R x P entries; -1 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Column<i32>>,
    /// The same as ids, texts and documents; `null` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<Option<Move>>>,
}

impl Step {
    /// Whether there are either `actions` or `moves`. What was decoded has one of them.
    pub fn is_whole(&self) -> bool {
        self.actions.is_some() != self.moves.is_some()
    }
}

/// A seed: any number below 2^64, on the wire as a decimal string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SeedVisitor)
    }
}

struct SeedVisitor;

impl Visitor<'_> for SeedVisitor {
    type Value = Seed;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a seed: a decimal string below 2^64, such as \"42\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Seed, E> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let seed = digits.then(|| text.parse().ok()).flatten();
        seed.map(Seed).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Seed {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seed".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number below 2^64 as a decimal string.",
            "type": "string",
            "pattern": "^[0-9]{1,20}$"
        })
    }
}

/// `view`: looks at one environment as any seat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// The handle.
    pub env: u32,
    /// The environment's index.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub i: u32,
    /// Which seat looks; absent: the one to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// What it wants to see.
    #[serde(default, deserialize_with = "or_default")]
    pub views: Vec<GymView>,
    /// Action ids whose texts are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<i64>>,
    /// Texts whose action ids are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse: Option<Vec<String>>,
}

/// `clone`: copies environments into a new handle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloneEnvs {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// A fresh random stream; absent: the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

/// `snapshot`: asks for states as bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
}

/// `restore`: sets states from bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// A snapshot for each environment named.
    pub items: Vec<Bytes>,
}

/// `close`: closes a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Close {
    /// The handle.
    pub env: u32,
}
