//! Reply to `enrol`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;
use crate::serde_helpers::or_default;

/// `enrolled`: reply to `enrol`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Enrolled {
    /// Name of the run.
    pub run: String,
    /// Id of the join that supplies the run's matches; absent if the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Number of matches to play, as currently known.
    pub due: u64,
    /// Number of finished matches.
    pub done: u64,
    /// Parts of the suite that cannot be played, by part, each with the reason.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// Estimated remaining time in milliseconds, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
}

impl Message for Enrolled {
    const TYPE: &'static str = "enrolled";
}

impl ServerBody for Enrolled {}
