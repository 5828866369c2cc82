//! Copies environments into a new handle.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;
use crate::seed::Seed;

/// `clone`: copies environments into a new handle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloneEnvs {
    /// Handle of the environments.
    pub env: u32,
    /// Indices of the environments to copy; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// Seed of new random streams for the copies; absent: the copies continue the streams of the originals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

impl Message for CloneEnvs {
    const TYPE: &'static str = "clone";
    const REPLIES: &'static [&'static str] = &["opened"];
}

impl ClientBody for CloneEnvs {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }

    fn starts_work(&self) -> bool {
        true
    }
}
