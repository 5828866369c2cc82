//! Announces that the server is shutting down.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `draining`: the server is shutting down and refuses new work such as `open` and `join`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draining {
    /// Time of the shutdown on the server's monotonic clock, in milliseconds.
    pub until_ms: u64,
    /// True if sessions can be resumed after the restart.
    #[serde(default, deserialize_with = "or_default")]
    pub resume: bool,
}

impl Message for Draining {
    const TYPE: &'static str = "draining";
}

impl ServerBody for Draining {}
