//! Who is at the other end of a connection.

use std::net::IpAddr;
use std::sync::Arc;

use crate::connection_limits::ConnectionPermit;

/// The other end.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Its address.
    pub ip: IpAddr,
    /// Whether the port listens on loopback only.
    pub local: bool,
    /// The token of the `Authorization` header.
    pub bearer: Option<String>,
    /// Counts its connection.
    pub entry: Arc<ConnectionPermit>,
}

impl Peer {
    /// Whether somebody without a token may come in where there are no tokens.
    pub fn guests_welcome(&self) -> bool {
        self.local && self.ip.is_loopback()
    }
}
