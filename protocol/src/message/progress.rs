//! Announces that a match of a run has finished.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServerBody;
use crate::envelope::Message;

/// `progress`: a match of a run has finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Name of the run.
    pub run: String,
    /// Number of finished matches.
    pub done: u64,
    /// Number of matches to play, as currently known.
    pub due: u64,
    /// Wins, draws and losses of the agent so far, by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict_so_far: Option<Value>,
}

impl Message for Progress {
    const TYPE: &'static str = "progress";
}

impl ServerBody for Progress {}
