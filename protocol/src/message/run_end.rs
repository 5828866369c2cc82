//! Announces the end of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use super::ServerBody;
use crate::envelope::Message;

/// Reason of the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum RunReason {
    /// All matches of the plan were played.
    #[default]
    Done,
    /// The agent withdrew and lost its unfinished matches.
    Withdrawn,
    /// The deadline of the run passed, and the agent lost its unfinished matches.
    Deadline,
}

/// `run_end`: a run has ended, and its seeds are disclosed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEnd {
    /// Name of the run.
    pub run: String,
    /// Reason of the end.
    pub reason: RunReason,
    /// Results by part, in the format of `ludex evaluate --json`.
    pub verdict: Value,
    /// Ratings of the agent, by game.
    pub ratings: Value,
    /// Location of the report, as a path on this server's website.
    pub report: String,
}

impl Message for RunEnd {
    const TYPE: &'static str = "run_end";
}

impl ServerBody for RunEnd {}
