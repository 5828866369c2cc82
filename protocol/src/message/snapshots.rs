//! Answers `snapshot`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::bytes::Bytes;
use crate::envelope::Message;

/// `snapshots`: answers `snapshot`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshots {
    /// The spec's hash; `restore` wants the same.
    pub hash: String,
    /// A snapshot for each environment named.
    pub items: Vec<Bytes>,
}

impl Message for Snapshots {
    const TYPE: &'static str = "snapshots";
}

impl FromServer for Snapshots {
    fn size_hint(&self) -> usize {
        128 + self.items.iter().map(|item| item.len() + 8).sum::<usize>()
    }
}
