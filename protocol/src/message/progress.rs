//! A match of a run is done.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FromServer;
use crate::envelope::Message;

/// `progress`: a match of a run is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// The run.
    pub run: String,
    /// Matches that are done.
    pub done: u64,
    /// Matches that are due, as far as is known now.
    pub due: u64,
    /// The agent's wins, draws and losses so far, by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict_so_far: Option<Value>,
}

impl Message for Progress {
    const TYPE: &'static str = "progress";
}

impl FromServer for Progress {}
