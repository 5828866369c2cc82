//! Answers `enrol`.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;

/// `enrolled`: answers `enrol`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enrolled {
    /// The run.
    pub run: String,
    /// The join that its matches come from; absent if the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Matches that are due, as far as is known now.
    pub due: u64,
    /// Matches that are done.
    pub done: u64,
    /// About how long the rest will take, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
}

impl Message for Enrolled {
    const TYPE: &'static str = "enrolled";
}

impl FromServer for Enrolled {}
