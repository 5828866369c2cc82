//! Acknowledges the messages of a match.

use serde::{Deserialize, Serialize};

use super::ClientBody;
use crate::envelope::Message;

/// `ack`: acknowledges the messages of a match up to `seq`, so that the server may discard these messages. Optional;
/// gets no reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ack {
    /// Id of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// Seat of the client; may be absent while the session holds one seat of the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<u32>,
    /// Number of the last message processed.
    pub seq: u64,
}

impl Message for Ack {
    const TYPE: &'static str = "ack";
}

impl ClientBody for Ack {}
