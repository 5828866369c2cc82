//! A server in the test's own process, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ludex_server::Config;
use ludex_server::matches::Hub;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A running server with a store of its own, which goes with it.
pub struct Server {
    /// Listening address of the server.
    pub address: SocketAddr,
    /// Folder of the server's store.
    pub data: std::path::PathBuf,
    /// The server's match plane, for operations of tournaments.
    pub hub: Arc<Hub>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Server {
    /// A server with one worker; `change` sets what the test is about.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().to_owned();
        let mut server = Self::start_in(&data, change).await;
        server._folder = Some(folder);
        server
    }

    /// The same on an existing store.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_in(data: &std::path::Path, change: impl FnOnce(&mut Config)) -> Self {
        Self::start_at(data, ([127, 0, 0, 1], 0).into(), change).await
    }

    /// The same at an address that another one had.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_at(data: &std::path::Path, at: SocketAddr, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(data);
        config.workers = 1;
        config.drain = Duration::from_secs(1);
        change(&mut config);
        let listener = TcpListener::bind(at).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let (stands, ready) = oneshot::channel();
        let task = tokio::spawn(async move {
            let ready = |hub: &Arc<Hub>| {
                let _ = stands.send(hub.clone());
                Ok(())
            };
            ludex_server::run_then(listener, config, ready, shutdown).await
        });
        let Ok(hub) = ready.await else { panic!("the server does not start: {:?}", task.await) };
        Server { address, data: data.to_owned(), hub, stop, task, _folder: None }
    }

    /// Tells it to stop; `Stopping::stopped` waits for that.
    pub fn stop(self) -> Stopping {
        let _ = self.stop.send(());
        Stopping { task: self.task, _folder: self._folder }
    }

    /// The body of an HTTP page.
    ///
    /// # Panics
    /// Panics without a complete reply.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, "").await
    }

    /// The same with more header lines, each ended by `\r\n`.
    ///
    /// # Panics
    /// Panics without a complete reply.
    pub async fn get_with(&self, path: &str, headers: &str) -> (u16, String) {
        get(self.address, path, headers).await
    }

    /// Returns true if the server reports good health.
    pub async fn is_well(&self) -> bool {
        let (status, body) = self.get("/health").await;
        status == 200 && body.contains("\"ok\"")
    }
}

/// A server that was told to stop.
pub struct Stopping {
    task: JoinHandle<anyhow::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Stopping {
    /// Waits for its end.
    ///
    /// # Panics
    /// When it fails or a thread of it panicked.
    pub async fn stopped(self) {
        self.task.await.expect("no panic").expect("an orderly end");
    }
}

/// The status and body of an HTTP page, asked for with more header lines, each ended by `\r\n`.
///
/// # Panics
/// Panics without a complete reply.
pub async fn get(address: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
    (status, body.to_owned())
}
