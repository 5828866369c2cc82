//! A join waits for others.

use serde::{Deserialize, Serialize};

use super::FromServer;
use crate::envelope::Message;

/// `queued`: a join waits for others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queued {
    /// The join.
    pub join: String,
    /// How many wait in the queue, this one counted.
    pub waiting: u32,
    /// About how long it will take, if the server can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
}

impl Message for Queued {
    const TYPE: &'static str = "queued";
}

impl FromServer for Queued {}
