//! Reply to `snapshot`.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::bytes::Bytes;
use crate::envelope::Message;

/// `snapshots`: reply to `snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshots {
    /// Rules hash from the game's spec; `restore` requires an equal hash.
    pub hash: String,
    /// One snapshot for each requested environment.
    pub items: Vec<Bytes>,
}

impl Message for Snapshots {
    const TYPE: &'static str = "snapshots";
}

impl ServerBody for Snapshots {
    fn size_hint(&self) -> usize {
        128 + self.items.iter().map(|item| item.len() + 8).sum::<usize>()
    }
}
