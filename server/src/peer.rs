//! Remote end of a connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ludex_protocol::Limits;

use crate::connection_limits::ConnectionPermit;

/// Remote address of a connection, with its token and permit.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Address of the client. Behind a trusted proxy, this is the forwarded address instead of the socket's.
    pub ip: IpAddr,
    /// True if the port accepts connections on loopback only.
    pub local: bool,
    /// Token from the `Authorization` header.
    pub bearer: Option<String>,
    /// Permit for the connection.
    pub entry: Arc<ConnectionPermit>,
}

impl Peer {
    /// Returns the owner of the jobs that compute pages for this address.
    pub fn job_owner(&self) -> Arc<str> {
        format!("address:{}", self.ip).into()
    }

    /// Returns the time within which the client must send a request head or `hello`. The time is shorter for a
    /// connection in a reserved slot.
    pub fn hello_time(&self, limits: &Limits) -> Duration {
        Duration::from_millis(if self.entry.is_reserved() { limits.hello_ms / 5 } else { limits.hello_ms })
    }
}
