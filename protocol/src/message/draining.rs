//! The server goes down.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `draining`: no new `open` or `join`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draining {
    /// When the server goes, on its monotonic clock.
    pub until_ms: u64,
    /// Whether sessions can be resumed after the restart.
    #[serde(default, deserialize_with = "or_default")]
    pub resume: bool,
}

impl Message for Draining {
    const TYPE: &'static str = "draining";
}

impl FromServer for Draining {}
