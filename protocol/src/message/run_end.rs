//! A run is over.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use super::FromServer;
use crate::envelope::Message;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum RunReason {
    /// Every match of the plan was played.
    #[default]
    Done,
    /// The agent withdrew. Its matches under way are lost.
    Withdrawn,
    /// The time for the run was over. The agent's matches under way are lost.
    Deadline,
}

/// `run_end`: a run is over, and its seeds are released.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// The run.
    pub run: String,
    /// How it ended.
    pub reason: RunReason,
    /// The results by part, as `ludex evaluate --json` prints them.
    pub verdict: Value,
    /// The ratings by game.
    pub ratings: Value,
    /// Where the report is, as a path of this server's web pages.
    pub report: String,
}

impl Message for RunEnd {
    const TYPE: &'static str = "run_end";
}

impl FromServer for RunEnd {}
