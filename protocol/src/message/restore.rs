//! Sets states from bytes.

use serde::{Deserialize, Serialize};

use super::FromClient;
use super::welcome::Scope;
use crate::bytes::Bytes;
use crate::column::Column;
use crate::envelope::Message;

/// `restore`: sets states from bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    /// The handle.
    pub env: u32,
    /// Which environments; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Column<u32>>,
    /// A snapshot for each environment named.
    pub items: Vec<Bytes>,
}

impl Message for Restore {
    const TYPE: &'static str = "restore";
}

impl FromClient for Restore {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
