//! Simulated connections: each delays its bytes and is cut at a random time. Bytes of one connection stay in order; those of
//! different connections overtake each other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ludex_client::LocalConnector;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc;

use super::Shared;

/// Size of the buffers of a connection in bytes.
const BUFFER: usize = 64 << 10;

/// Network between the clients and the server of the moment.
#[derive(Clone)]
pub(super) struct SimulatedNetwork(Shared<Links>);

struct Links {
    rng: SmallRng,
    /// Receiver of new connections; `None` while no server runs.
    server: Option<mpsc::UnboundedSender<DuplexStream>>,
}

impl SimulatedNetwork {
    pub fn new(rng: SmallRng) -> Self {
        SimulatedNetwork(Shared::new(Links { rng, server: None }.into()))
    }

    /// Passes new connections to a server.
    pub fn connect(&self, server: mpsc::UnboundedSender<DuplexStream>) {
        self.0.lock().server = Some(server);
    }

    /// Refuses new connections until the next server is there.
    pub fn disconnect(&self) {
        self.0.lock().server = None;
    }

    /// Returns a connector for a client.
    pub fn connector(&self) -> LocalConnector {
        let network = self.clone();
        LocalConnector::new(Arc::new(move || network.open()))
    }

    fn open(&self) -> io::Result<DuplexStream> {
        let mut state = self.0.lock();
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let server = state.server.clone().ok_or_else(refused)?;
        let (client, near) = duplex(BUFFER);
        let (far, end) = duplex(BUFFER);
        server.send(end).map_err(|_| refused())?;
        let rng = SmallRng::seed_from_u64(state.rng.random());
        tokio::spawn(connection(near, far, rng));
        Ok(client)
    }
}

/// Passes on bytes in both directions, until one side closes or the connection is cut. The ends notice a cut at different
/// times.
async fn connection(near: DuplexStream, far: DuplexStream, mut rng: SmallRng) {
    let [up, down] = [(); 2].map(|()| SmallRng::seed_from_u64(rng.random()));
    let life = Duration::from_millis(rng.random_range(0..120_000));
    let (from_client, to_client) = split(near);
    let (from_server, to_server) = split(far);
    tokio::select! {
        () = pass(from_client, to_server, up) => {}
        () = pass(from_server, to_client, down) => {}
        () = tokio::time::sleep(life) => {}
    }
}

/// Passes on bytes, each piece after a delay.
async fn pass(mut from: ReadHalf<DuplexStream>, mut to: WriteHalf<DuplexStream>, mut rng: SmallRng) {
    let mut bytes = vec![0; 2_048];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let slow = rng.random_bool(0.02);
        let delay = if slow { rng.random_range(0..5_000) } else { rng.random_range(0..50) };
        tokio::time::sleep(Duration::from_millis(delay)).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
