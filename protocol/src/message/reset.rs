//! Starts episodes in environments.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::seed::Seed;

/// `reset`: starts episodes in environments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// Handle of the environments.
    pub env: u32,
    /// Indices of the environments to reset; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Base seed: environment i uses the seed `seed + i`, modulo 2^64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// One seed for each listed environment, in the order of `envs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Vec<Seed>>,
    /// Player of each seat from now on, as in `open`; absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<String>>,
}

impl Message for Reset {
    const TYPE: &'static str = "reset";
    const REPLIES: &'static [&'static str] = &["batch"];
}

impl ClientBody for Reset {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        limits.texts("seats", self.seats.iter().flatten())
    }
}
