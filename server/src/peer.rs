//! Remote end of a connection.

use std::net::IpAddr;
use std::sync::Arc;

use crate::connection_limits::ConnectionPermit;

/// Remote end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub ip: IpAddr,
    /// True if the port accepts connections on loopback only.
    pub local: bool,
    /// Token from the `Authorization` header.
    pub bearer: Option<String>,
    /// Permit for the connection.
    pub entry: Arc<ConnectionPermit>,
}

impl Peer {
    /// Returns true if clients without a token are admitted until the server's first token is
    /// created.
    pub fn guests_welcome(&self) -> bool {
        self.local && self.ip.is_loopback()
    }
}
