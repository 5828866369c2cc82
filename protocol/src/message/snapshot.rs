//! Requests snapshots of environment states.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;

/// `snapshot`: requests snapshots of environment states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotEnvs {
    /// Handle of the environments.
    pub env: u32,
    /// Indices of the environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
}

impl Message for SnapshotEnvs {
    const TYPE: &'static str = "snapshot";
    const REPLIES: &'static [&'static str] = &["snapshots"];
}

impl ClientBody for SnapshotEnvs {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
