//! Server in the test's own process, on a separate port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ludex_arena::matches::Hub;
use ludex_arena::runs::Runs;
use ludex_server::{Config, ServerHandle};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Running server with a temporary store, which is deleted when this value is dropped.
pub struct Server {
    /// Listening address of the server.
    pub address: SocketAddr,
    /// Folder of the server's store.
    pub data: std::path::PathBuf,
    /// The server's match plane.
    pub hub: Arc<Hub>,
    /// Runs of the server, which create tournaments.
    pub runs: Arc<Runs>,
    /// Settings of the server, which a test may change and reload.
    pub config: Config,
    /// Control of the running server.
    pub handle: ServerHandle,
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts a server with one worker; `change` adjusts the settings that a test needs.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().to_owned();
        let mut server = Self::start_in(&data, change).await;
        server._folder = Some(folder);
        server
    }

    /// Starts a server on an existing store.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub async fn start_in(data: &std::path::Path, change: impl FnOnce(&mut Config)) -> Self {
        Self::start_at(data, ([127, 0, 0, 1], 0).into(), change).await
    }

    /// Starts a server on an existing store, at the address of an earlier server.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub async fn start_at(data: &std::path::Path, at: SocketAddr, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(data);
        config.workers = 1;
        config.drain = Duration::from_secs(1);
        // Tests poll pages.
        config.limits.pages_per_s = 0;
        change(&mut config);
        let listener = TcpListener::bind(at).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let (stands, ready) = oneshot::channel();
        let settings = config.clone();
        let task = tokio::spawn(async move {
            let ready = |handle: ServerHandle| {
                let _ = stands.send(handle);
                Ok(())
            };
            ludex_server::run_with_handle(listener, settings, ready, shutdown).await
        });
        let Ok(handle) = ready.await else { panic!("the server does not start: {:?}", task.await) };
        let runs = handle.runs().expect("a running server");
        let (hub, data) = (runs.hub.clone(), data.to_owned());
        Server { address, data, hub, runs, config, handle, stop, task, _folder: None }
    }

    /// Requests a shutdown; wait for it with [`Stopping::stopped`].
    pub fn stop(self) -> Stopping {
        let _ = self.stop.send(());
        Stopping { task: self.task, _folder: self._folder }
    }

    /// Fetches a page over HTTP and returns its status and body.
    ///
    /// # Panics
    /// Panics if no complete reply arrives.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, "").await
    }

    /// Fetches a page with additional header lines, each ended by `\r\n`.
    ///
    /// # Panics
    /// Panics if no complete reply arrives.
    pub async fn get_with(&self, path: &str, headers: &str) -> (u16, String) {
        get(self.address, path, headers).await
    }

    /// Returns true if the server reports that it is healthy.
    pub async fn is_well(&self) -> bool {
        let (status, body) = self.get("/health").await;
        status == 200 && body.contains("\"ok\"")
    }
}

/// Server whose shutdown was requested.
pub struct Stopping {
    task: JoinHandle<anyhow::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl Stopping {
    /// Waits until the server has stopped.
    ///
    /// # Panics
    /// Panics if the server fails or one of its threads panicked.
    pub async fn stopped(self) {
        self.task.await.expect("no panic").expect("an orderly end");
    }
}

/// Fetches a page with additional header lines, each ended by `\r\n`, and returns its status and body.
///
/// # Panics
/// Panics if no complete reply arrives.
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

/// Sends a form as a page of the server does, with additional header lines, each ended by `\r\n`, and returns the
/// complete response.
///
/// # Panics
/// Panics if no complete reply arrives.
pub async fn post(address: SocketAddr, path: &str, headers: &str, form: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let (length, kind) = (form.len(), "application/x-www-form-urlencoded");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nConnection: close\r\n\
         Content-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n{form}"
    );
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}
