//! Unreliable proxy in front of a server: cuts connections after a number of bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Proxy on a separate port; it ends when this value is dropped.
pub struct Proxy {
    /// Listening address of the proxy.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Proxy {
    /// Starts a proxy that cuts connection k, counted from 0, after `bytes(k)` bytes from the server.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn start(server: SocketAddr, bytes: impl Fn(usize) -> usize + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let k = counted.fetch_add(1, Ordering::Relaxed);
                running.spawn(carry(client, server, bytes(k)));
            }
        });
        Proxy { address, connections, task: task.abort_handle() }
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, server: SocketAddr, bytes: usize) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let up = async { tokio::io::copy(&mut from_client, &mut to_server).await.map(drop) };
    let down = async {
        tokio::io::copy(&mut from_server.take(bytes as u64), &mut to_client).await?;
        to_client.flush().await
    };
    // If one side ends, both are closed.
    tokio::select! {
        _ = up => {}
        _ = down => {}
    }
}
