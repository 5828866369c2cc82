//! Servers to measure: Ludex, and a bare echo server as the baseline.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use ludex_protocol::Limits;
use ludex_server::Config;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// Server that runs on separate threads and listens on a free loopback port.
pub struct Host {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
    /// Directory of the store, removed on drop.
    _data: Option<tempfile::TempDir>,
}

impl Host {
    /// Starts a Ludex server with one worker.
    pub fn ludex() -> anyhow::Result<Self> {
        // Not in /tmp, which is often in memory.
        Self::with(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?, |_| ())
    }

    /// Starts a Ludex server with its store in memory (Linux only). `change` adjusts the limits.
    pub fn in_memory(change: impl FnOnce(&mut Limits)) -> anyhow::Result<Self> {
        Self::with(tempfile::tempdir_in("/dev/shm").context("creating a directory in /dev/shm failed")?, change)
    }

    fn with(data: tempfile::TempDir, change: impl FnOnce(&mut Limits)) -> anyhow::Result<Self> {
        // Running matches are cut off after the measurement.
        let mut config = Config { workers: 1, drain: Duration::ZERO, ..Config::new(data.path()) };
        change(&mut config.limits);
        Self::start(Some(data), |listener, stop| async move {
            ludex_server::run(listener, config, async {
                let _ = stop.await;
            })
            .await
        })
    }

    /// Starts a bare tokio-tungstenite server. On each connection, it sends `replies` cyclically, one reply per
    /// message, and writes the replies to all received messages in one flush. [`end`](Self::end) waits until all
    /// clients have disconnected.
    pub fn echo(replies: Vec<Bytes>) -> anyhow::Result<Self> {
        Self::start(None, |listener, mut stop| async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = tokio::select! {
                    accepted = listener.accept() => accepted?,
                    _ = &mut stop => break,
                };
                stream.set_nodelay(true)?;
                connections.spawn(echo(stream, replies.clone()));
            }
            while let Some(ended) = connections.join_next().await {
                ended??;
            }
            Ok(())
        })
    }

    fn start<F: Future<Output = anyhow::Result<()>>>(
        data: Option<tempfile::TempDir>,
        serve: impl FnOnce(TcpListener, oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("host".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { serve(TcpListener::from_std(listener)?, stopped).await })
        })?;
        Ok(Host { address, stop, thread, _data: data })
    }

    /// Stops the server and waits for its threads.
    pub fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.thread.join().ok().context("the server panicked")?
    }
}

async fn echo(stream: TcpStream, replies: Vec<Bytes>) -> anyhow::Result<()> {
    let mut ws = tokio_tungstenite::accept_async(stream).await?;
    let mut replies = replies.iter().cycle();
    while let Some(Ok(message)) = ws.next().await {
        let mut next = Some(message);
        while let Some(message) = next {
            if message.is_close() {
                return Ok(());
            }
            ws.feed(Message::Binary(replies.next().context("expected at least one reply")?.clone())).await?;
            next = ws.next().now_or_never().flatten().and_then(Result::ok);
        }
        // The client has disconnected.
        if ws.flush().await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Pins the server's threads to the CPU `serving`, and all other threads of this process to the CPU `asking`. Returns
/// false if `taskset` or a CPU is missing.
pub fn place(serving: usize, asking: usize) -> bool {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return false };
    tasks.flatten().all(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        let cpu = if name.starts_with("worker-") || name.trim() == "host" { serving } else { asking };
        let tid = task.file_name();
        let set = std::process::Command::new("taskset").args(["-cp", &cpu.to_string()]).arg(tid).output();
        set.is_ok_and(|done| done.status.success())
    })
}
