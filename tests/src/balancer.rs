//! Load balancer in front of several servers, as operators run one.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Interval between two probes of the servers.
const PROBE: Duration = Duration::from_millis(100);

/// Maximum time for a server to answer a probe.
const ANSWER: Duration = Duration::from_millis(500);

/// Balancer that passes each connection to the server that is ready (`/readyz`), and closes the connections of a server that
/// no longer is. It ends when this value is dropped.
pub struct Balancer {
    /// Listening address of the balancer.
    pub address: SocketAddr,
    tasks: [AbortHandle; 2],
}

impl Balancer {
    /// Starts a balancer for servers of which at most one is ready.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub async fn start(servers: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (ready, server) = watch::channel(None);
        let probes = tokio::spawn(async move {
            loop {
                let mut found = None;
                for server in &servers {
                    if is_ready(*server).await {
                        found = Some(*server);
                    }
                }
                ready.send_if_modified(|known| std::mem::replace(known, found) != found);
                tokio::time::sleep(PROBE).await;
            }
        });
        let connections = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                running.spawn(carry(client, server.clone()));
            }
        });
        Balancer { address, tasks: [probes.abort_handle(), connections.abort_handle()] }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Returns true if a server accepts new work.
pub async fn is_ready(server: SocketAddr) -> bool {
    let probe = async {
        let mut stream = TcpStream::connect(server).await.ok()?;
        let head = format!("GET /readyz HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer.starts_with("HTTP/1.1 200"))
    };
    tokio::time::timeout(ANSWER, probe).await.ok().flatten().unwrap_or(false)
}

async fn carry(mut client: TcpStream, mut server: watch::Receiver<Option<SocketAddr>>) {
    let Some(address) = *server.borrow_and_update() else { return };
    let Ok(mut upstream) = TcpStream::connect(address).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut upstream) => {}
        _ = server.changed() => {}
    }
}
