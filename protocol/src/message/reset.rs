//! Starts episodes.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::seed::Seed;

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

impl Message for Reset {
    const TYPE: &'static str = "reset";
}

impl FromClient for Reset {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.texts("seats", self.seats.iter().flatten())
    }
}
