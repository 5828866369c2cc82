//! Opens environments.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::view::GymView;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, is_one, one, or_default, or_one};
use crate::spec::Params;

/// How seats change from episode to episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rotate {
    /// Seats stay as they are.
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
    /// Truncates episodes after this number of moves of seats.
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

impl Message for Open {
    const TYPE: &'static str = "open";
}

impl FromClient for Open {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn begins(&self) -> bool {
        true
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("params", &self.params)
    }
}
