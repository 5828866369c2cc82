//! Pings of both sides.

use serde::{Deserialize, Serialize};

use super::{FromClient, FromServer};
use crate::envelope::Message;

/// `ping`: asks for a `pong`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {}

impl Message for Ping {
    const TYPE: &'static str = "ping";
}

impl FromClient for Ping {}

/// `ping`: is the client there?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerPing {
    /// To be sent back.
    pub nonce: u64,
}

impl Message for ServerPing {
    const TYPE: &'static str = "ping";
}

impl FromServer for ServerPing {}
