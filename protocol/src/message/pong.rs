//! The messages `pong` of client and server.

use serde::{Deserialize, Serialize};

use super::{ClientBody, ServerBody};
use crate::envelope::Message;

/// `pong`: optional reply to the server's `ping`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// Value of `nonce` in the `ping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
}

impl Message for Pong {
    const TYPE: &'static str = "pong";
}

impl ClientBody for Pong {}

/// `pong`: reply to the client's `ping`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerPong {
    /// Current time on the server's monotonic clock, in milliseconds.
    pub now_ms: u64,
}

impl Message for ServerPong {
    const TYPE: &'static str = "pong";
}

impl ServerBody for ServerPong {}
