//! The messages `ping` of client and server.

use serde::{Deserialize, Serialize};

use super::{ClientBody, ServerBody};
use crate::envelope::Message;

/// `ping`: requests a `pong` with the server's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {}

impl Message for Ping {
    const TYPE: &'static str = "ping";
    const REPLIES: &'static [&'static str] = &["pong"];
}

impl ClientBody for Ping {}

/// `ping`: checks that the client is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerPing {
    /// Value that the client may return in its `pong`.
    pub nonce: u64,
}

impl Message for ServerPing {
    const TYPE: &'static str = "ping";
}

impl ServerBody for ServerPing {}
