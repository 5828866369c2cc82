//! In-process connections, over which the handlers of doors reach the server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ludex_protocol::Encoding;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc;

use crate::door::Connect;
use crate::peer::Peer;
use crate::server_state::ServerState;
use crate::session::{self, ServerSocket};

/// Size of the buffer of an in-process connection in bytes, for each direction.
const BUFFER: usize = 64 << 10;

/// Server's ends of new in-process connections, on their way to a worker.
pub(crate) type LocalStreams = mpsc::UnboundedSender<(DuplexStream, Peer)>;

/// Returns the function that opens in-process connections for the HTTP connection of `peer`. The first one shares the
/// permit of the HTTP connection, and each further one takes a permit of its own.
pub(crate) fn connector(streams: LocalStreams, peer: Peer, shared: Arc<ServerState>) -> Connect {
    let shares_permit = AtomicBool::new(true);
    Arc::new(move || {
        let entry = match shares_permit.swap(false, Ordering::Relaxed) {
            true => peer.entry.clone(),
            false => match shared.permits.enter(peer.ip) {
                Some(permit) => Arc::new(permit),
                None => return Err(io::Error::new(io::ErrorKind::QuotaExceeded, "connection limit reached")),
            },
        };
        let (client, server) = duplex(BUFFER);
        let peer = Peer { entry, bearer: None, ..peer.clone() };
        let stopped = |_| io::Error::new(io::ErrorKind::ConnectionRefused, "server is shutting down");
        streams.send((server, peer)).map_err(stopped)?;
        Ok(client)
    })
}

/// Serves an in-process connection.
pub(crate) async fn serve(stream: DuplexStream, peer: Peer, shared: Arc<ServerState>) {
    let io = session::timed(stream, Duration::from_millis(shared.limits.hello_ms));
    let wire = ServerSocket::new(io, Vec::new(), Encoding::MsgPack, &shared.limits).await;
    let cell = shared.hub.cell().number();
    session::serve(wire, peer, shared, cell).await;
}
