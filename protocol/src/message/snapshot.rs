//! Asks for states as bytes.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::column::Column;
use crate::envelope::Message;

/// `snapshot`: asks for states as bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotEnvs {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
}

impl Message for SnapshotEnvs {
    const TYPE: &'static str = "snapshot";
}

impl FromClient for SnapshotEnvs {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
