//! Closes an environment handle.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use super::welcome::Scope;
use crate::envelope::Message;

/// `close`: closes an environment handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloseHandle {
    /// Handle of the environments to close.
    pub env: u32,
}

impl Message for CloseHandle {
    const TYPE: &'static str = "close";
    const REPLIES: &'static [&'static str] = &["ok"];
}

impl ClientBody for CloseHandle {
    fn scope(&self) -> Option<Scope> {
        Some(Scope::Gym)
    }
}
