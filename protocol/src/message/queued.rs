//! Announces that a join is waiting in its queue.

use serde::{Deserialize, Serialize};

use super::ServerBody;
use crate::envelope::Message;

/// `queued`: a join is waiting in its queue for opponents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queued {
    /// Id of the join.
    pub join: String,
    /// Number of joins waiting in the queue, including this join.
    pub waiting: u32,
    /// Estimated waiting time in milliseconds, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
}

impl Message for Queued {
    const TYPE: &'static str = "queued";
}

impl ServerBody for Queued {}
