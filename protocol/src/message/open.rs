//! Opens environments.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::view::GymView;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_one};
use crate::spec::Params;

/// Rotation of the entries of `seats` from episode to episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rotate {
    /// No rotation: entries keep their seats.
    #[default]
    None,
    /// In episode e, seat k is played by entry (k + e) mod P of `seats`, where P is the number of seats.
    Cycle,
    /// In each episode, a random shift drawn from the episode's key replaces e in the formula of `cycle`.
    Random,
}

/// Source of chance outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChanceBy {
    /// The server draws outcomes from the seed.
    #[default]
    Server,
    /// The client chooses outcomes at chance nodes.
    Client,
}

/// Reset mode of finished environments, as in Gymnasium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Autoreset {
    /// The next step ignores the submitted action and starts a new episode.
    #[default]
    NextStep,
    /// The step that ends an episode also starts the next episode.
    SameStep,
    /// Only `reset` starts a new episode.
    Disabled,
}

/// Encoding of the legal actions in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaskForm {
    /// One byte per action, 1 if legal.
    U1,
    /// One bit per action, least significant bit first. Each row is padded to whole bytes.
    Bits,
    /// Offsets and ascending action ids.
    Ids,
    /// No legal actions in batches.
    None,
}

/// Seats whose views a batch contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// The acting seat: one row per environment.
    #[default]
    Acting,
    /// Every seat: one row per environment and seat.
    All,
}

/// Consequence of an illegal action in an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnIllegal {
    /// The whole call is refused, and no environment changes.
    #[default]
    Refuse,
    /// The episode ends, and the offender gets the least possible return.
    Lose,
}

/// `open`: opens `count` environments of one game under one handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Open {
    /// Game id, or a complete game string.
    pub game: String,
    /// Parameters of the game, which override the parameters in the game string.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// Number of environments to open.
    #[serde(default = "one", deserialize_with = "or_one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Player of each seat: `"agent"` (the client) or an agent spec. Absent: the client plays all seats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
    /// Rotation of the entries of `seats` from episode to episode.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rotate: Rotate,
    /// Source of chance outcomes.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub chance: ChanceBy,
    /// Reset mode of finished environments.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub autoreset: Autoreset,
    /// Views included in batches. Absent: `tensor`, if the game has a tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<GymView>>,
    /// Settings of the view `prompt`, by name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub prompt: Params,
    /// Layout of the tensor: `ludex`, or a layout that the spec lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Encoding of legal actions. Absent: `u1` up to 512 actions, else `ids`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskForm>,
    /// Seats whose views batches contain.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub observer: Observer,
    /// Consequence of an illegal action.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub on_illegal: OnIllegal,
    /// Maximum number of moves in an episode; longer episodes are truncated. A joint move counts as one move, and
    /// chance outcomes do not count. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// True to store episode records on the server.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub record: bool,
}

impl Open {
    /// Creates a request for one environment of a game, with defaults for everything else.
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
            prompt: Params::new(),
            layout: None,
            mask: None,
            observer: Observer::default(),
            on_illegal: OnIllegal::default(),
            max_steps: None,
            record: false,
        }
    }
}

impl Message for Open {
    const TYPE: &'static str = "open";
    const REPLIES: &'static [&'static str] = &["opened"];
}

impl ClientBody for Open {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn starts_work(&self) -> bool {
        true
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("params", &self.params)?;
        limits.document("prompt", &self.prompt)
    }
}
