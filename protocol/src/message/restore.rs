//! Restores environment states from snapshots.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::bytes::Bytes;
use crate::column::Column;
use crate::envelope::Message;

/// `restore`: restores environment states from snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    /// Handle of the environments.
    pub env: u32,
    /// Indices of the environments to restore; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// One snapshot for each listed environment.
    pub items: Vec<Bytes>,
}

impl Message for Restore {
    const TYPE: &'static str = "restore";
    const REPLIES: &'static [&'static str] = &["batch"];
}

impl ClientBody for Restore {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
