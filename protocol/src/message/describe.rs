//! Requests the spec of a game.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, or_default};
use crate::spec::Params;

/// `describe`: requests the spec of a game under given parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Describe {
    /// Game id, or a complete game string.
    pub game: String,
    /// Parameters of the game, which override the parameters in the game string.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// True to include the game's rules page.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rules_text: bool,
}

impl Message for Describe {
    const TYPE: &'static str = "describe";
    const REPLIES: &'static [&'static str] = &["spec"];
}

impl ClientBody for Describe {
    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("params", &self.params)
    }
}
