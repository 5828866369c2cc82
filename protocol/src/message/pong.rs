//! Answers to pings, of both sides.

use serde::{Deserialize, Serialize};

use super::{FromClient, FromServer};
use crate::envelope::Message;

/// `pong`: the answer to the server's `ping`; optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// The nonce of the `ping`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<u64>,
}

impl Message for Pong {
    const TYPE: &'static str = "pong";
}

impl FromClient for Pong {
    fn is_request(&self) -> bool {
        false
    }
}

/// `pong`: answers `ping`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerPong {
    /// The server's monotonic clock.
    pub now_ms: u64,
}

impl Message for ServerPong {
    const TYPE: &'static str = "pong";
}

impl FromServer for ServerPong {}
