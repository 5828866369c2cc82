//! Remote end of a connection.

use std::net::IpAddr;
use std::sync::Arc;

use crate::connection_limits::ConnectionPermit;

/// Remote end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub ip: IpAddr,
    /// True if the port listens on loopback only.
    pub local: bool,
    /// Token of the `Authorization` header.
    pub bearer: Option<String>,
    /// Permit that counts the connection.
    pub entry: Arc<ConnectionPermit>,
}

impl Peer {
    /// Returns true if clients without a token are admitted while the server has no tokens.
    pub fn guests_welcome(&self) -> bool {
        self.local && self.ip.is_loopback()
    }
}
