//! Requests views of one environment.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, or_default};
use crate::spec::Params;

/// Form of the views in batches and in `viewed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GymView {
    /// Observation array from the seat's perspective.
    Tensor,
    /// Perfect-recall information state as an array.
    Info,
    /// Structured view as JSON.
    Struct,
    /// View as plain text.
    Text,
    /// Sum of rewards of the episode so far.
    Returns,
    /// Picture of the position (SVG).
    Picture,
    /// Prompt for a language model.
    Prompt,
}

/// `view`: requests views of one environment, as any seat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ViewEnv {
    /// Handle of the environments.
    pub env: u32,
    /// Index of the environment.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub i: u32,
    /// Observing seat; absent: the seat to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Requested forms of the view.
    #[serde(default, deserialize_with = "or_default")]
    pub views: Vec<GymView>,
    /// Action ids whose texts are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<i64>>,
    /// Texts whose action ids are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse: Option<Vec<String>>,
    /// Settings of the prompt; absent: those of `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Params>,
    /// Answers of a language model to read, without playing them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
}

impl Message for ViewEnv {
    const TYPE: &'static str = "view";
    const REPLIES: &'static [&'static str] = &["viewed"];
}

impl ClientBody for ViewEnv {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("prompt", &self.prompt)?;
        limits.texts("answers", self.answers.iter().flatten())
    }
}
