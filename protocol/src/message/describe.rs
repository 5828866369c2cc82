//! Asks for a game's spec.

use serde::{Deserialize, Serialize};

use super::FromClient;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::serde_helpers::{is_default, or_default};
use crate::spec::Params;

/// `describe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Describe {
    /// Game id, or the whole game string.
    pub game: String,
    /// Parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Params::is_empty")]
    pub params: Params,
    /// Send the rules page too.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub rules_text: bool,
}

impl Message for Describe {
    const TYPE: &'static str = "describe";
}

impl FromClient for Describe {
    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.document("params", &self.params)
    }
}
