//! Remote end of a connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::Limits;

use crate::connection_limits::ConnectionPermit;

/// Remote end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Address of the client; behind a trusted proxy, not that of the socket.
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

    /// Returns the owner of the jobs that compute pages for this address.
    pub fn job_owner(&self) -> Arc<str> {
        format!("address:{}", self.ip).into()
    }

    /// Returns the time until the client must have sent a request head or `hello`. It is shorter on a reserved place.
    pub fn hello_time(&self, limits: &Limits) -> Duration {
        Duration::from_millis(if self.entry.is_reserved() { limits.hello_ms / 5 } else { limits.hello_ms })
    }
}
