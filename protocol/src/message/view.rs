//! Looks at one environment.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::serde_helpers::{is_default, or_default};

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
    /// A drawing of the position for people.
    Picture,
}

/// `view`: looks at one environment as any seat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ViewEnv {
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

impl Message for ViewEnv {
    const TYPE: &'static str = "view";
}

impl FromClient for ViewEnv {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
