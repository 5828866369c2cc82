//! Connection acceptor, worker threads and orderly shutdown.
//!
//! Each worker is a thread with its own runtime. A connection stays on one worker until it closes, so requests are
//! processed without shared state and without waking another core.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use ludex_protocol::message::Draining;
use ludex_store::snapshot::reserve;
use ludex_store::{Store, StoreLocation, StoreOptions, restrict_new_files};
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};

use crate::balance::balance;
use crate::check::check;
use crate::config::{Config, RegistrationMode};
use crate::handle::{Listening, ServerHandle};
use crate::http;
use crate::peer::Peer;
use crate::running_cell::{CellHost, RunningCell, WorkerTask};
use crate::server_state::ServerState;
use crate::standby;
use crate::tls;
use ludex_arena::metrics::Metrics;
use ludex_arena::runs::Runs;
use ludex_arena::sessions::Control;
use ludex_arena::stall_monitor::WorkerMonitors;

/// Maximum time for clients to disconnect after the server has closed their connections.
const GOODBYE: Duration = Duration::from_secs(1);

/// Maximum time to wait at the start for a database that cannot be reached, and for the lease of another server.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time in which a store is usually open. Only a server that waits longer answers clients without a store, or stops on
/// `shutdown`.
const OPENING: Duration = Duration::from_secs(2);

/// Maximum time to wait of a standby: ten years.
const STANDBY: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Interval at which histogram samples are aggregated into buckets.
const TIDY: Duration = Duration::from_secs(5);

/// Serves `listener` until `shutdown` resolves. Then waits at most `config.drain` for running matches to finish.
///
/// # Errors
///
/// Fails if the server cannot start: invalid certificates, contradictory limits, or a store that cannot be opened.
pub async fn run(
    listener: TcpListener,
    config: Config,
    shutdown: impl Future<Output = ()> + Send,
) -> anyhow::Result<()> {
    run_then(listener, config, |_| Ok(()), shutdown).await
}

/// Serves like [`run`], and calls `ready` with the runs and their match plane once the server is ready.
///
/// # Errors
///
/// Returns the errors of [`run`] and of `ready`.
pub async fn run_then(
    listener: TcpListener,
    config: Config,
    ready: impl FnOnce(&Arc<Runs>) -> anyhow::Result<()> + Send,
    shutdown: impl Future<Output = ()> + Send,
) -> anyhow::Result<()> {
    let ready = |server: ServerHandle| match server.runs() {
        Some(runs) => ready(&runs),
        // The server stops only after `ready` has returned.
        None => Ok(()),
    };
    run_with_handle(listener, config, ready, shutdown).await
}

/// Serves like [`run`], and calls `ready` with a handle of the server once it is ready.
///
/// # Errors
///
/// Returns the errors of [`run`] and of `ready`.
pub async fn run_with_handle(
    listener: TcpListener,
    config: Config,
    ready: impl FnOnce(ServerHandle) -> anyhow::Result<()> + Send,
    shutdown: impl Future<Output = ()> + Send,
) -> anyhow::Result<()> {
    boxed(listener, config, Box::new(ready), Box::pin(shutdown)).await
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Ready<'a> = Box<dyn FnOnce(ServerHandle) -> anyhow::Result<()> + Send + 'a>;

/// Returns the boxed future of [`run_with_handle`]. Because of the box, the future is compiled once in this crate, instead of
/// in every crate that starts a server.
fn boxed<'a>(
    listener: TcpListener,
    config: Config,
    ready: Ready<'a>,
    shutdown: Boxed<'a, ()>,
) -> Boxed<'a, anyhow::Result<()>> {
    Box::pin(serve_until(listener, config, ready, shutdown))
}

async fn serve_until(
    listener: TcpListener,
    config: Config,
    ready: Ready<'_>,
    shutdown: Boxed<'_, ()>,
) -> anyhow::Result<()> {
    restrict_new_files();
    check(&config)?;
    let tls = config.tls.as_ref().map(tls::acceptor).transpose()?;
    let metrics = Metrics::new()?;
    // The lock of a store in the folder serves for the folder too.
    let _lock = (!config.store.is_in(&config.data)).then(|| reserve(&config.data)).transpose()?;
    let address = listener.local_addr()?;
    let options = StoreOptions {
        commits: metrics.commits.clone(),
        patience: patience(&config),
        allow_async_replication: config.allow_async_replication,
        cells: config.cells,
        at: config.advertise.clone().unwrap_or_else(|| format!("{}://{address}", scheme(&config))),
        ..StoreOptions::default()
    };
    let (mut shutdown, mut is_stopped) = (shutdown, false);
    let leave = async {
        shutdown.as_mut().await;
        is_stopped = true;
        tokio::time::sleep(OPENING).await;
    };
    let answers = !patience(&config).is_zero();
    let answer = async {
        // Clients of a server that is about to be ready wait for it.
        tokio::time::sleep(OPENING).await;
        standby::answer(&listener, tls.as_ref()).await
    };
    let store = tokio::select! {
        store = Store::open_with(&config.store, options.clone()) => store?,
        never = answer, if answers => match never {},
        () = leave => return Ok(()),
    };
    anyhow::ensure!(
        store.cell().count() == 1 || config.advertise.is_some() || !address.ip().is_unspecified(),
        "advertise: expected the URL of this server for clients of other servers, got none"
    );
    let local = address.ip().is_loopback();
    let tokens = store.has_tokens().await? || config.registration == Some(RegistrationMode::Open);
    let open_to_all = (!local).then_some(warnings(config.tls.is_some(), tokens));
    open_to_all.into_iter().flatten().for_each(|warning| tracing::warn!("{warning}"));
    let shared = Arc::new(ServerState::new(config, store, metrics).await?);
    let listening = Arc::new(Listening { cells: shared.cells.clone(), tls: tls.into() });
    let workers = (0..shared.config.workers.max(1)).map(|k| Worker::start(k, &shared, &listening, local));
    let workers: Vec<Worker> = workers.collect::<anyhow::Result<_>>()?;
    let (lose, mut failed) = mpsc::unbounded_channel();
    let host = CellHost { workers: workers.iter().map(|worker| worker.tasks.clone()).collect(), lost: lose };
    let running = Arc::new(Mutex::new(vec![RunningCell::start(shared.clone(), &host).await?]));
    ready(ServerHandle::new(&listening))?;
    let balancing = (shared.hub.cell().count() > 1).then(|| {
        let options = StoreOptions { patience: Duration::ZERO, ..options };
        tokio::spawn(balance(shared.cells.clone(), running.clone(), host, options))
    });
    let mut lost = None;
    {
        let mut told = pin!(async {
            if !is_stopped {
                shutdown.await;
            }
            balancing.iter().for_each(tokio::task::JoinHandle::abort);
            drain(&shared).await;
            // Stops all jobs. The searches of matches are repeated after the restart.
            shared.gym.compute.stop();
        });
        let mut tidy = tokio::time::interval(TIDY);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = tidy.tick() => {
                    shared.metrics.tidy();
                    continue;
                }
                () = told.as_mut() => break,
                // Another server may own the store already, so that nothing may be shown any more.
                error = failed.recv() => {
                    lost = error;
                    break;
                }
            };
            match accepted {
                Ok((stream, peer)) => {
                    if let Some(worker) = workers.iter().min_by_key(|w| w.load.load(Ordering::Relaxed)) {
                        worker.take(stream, peer);
                    }
                }
                Err(e) => {
                    // Usually the process is out of file descriptors; connections that end free some.
                    tracing::warn!(error = %e, "accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
    // Ends before the workers do, whose channels it holds.
    if let Some(balancing) = balancing {
        balancing.abort();
        let _ = balancing.await;
    }
    let running = std::mem::take(&mut *running.lock().await);
    running.iter().for_each(RunningCell::close_connections);
    let ended = tokio::task::spawn_blocking(move || workers.into_iter().try_for_each(Worker::join));
    ended.await.context("waiting for the workers failed")??;
    shared.cells.clear();
    shared.gym.compute.close().await;
    let mut closed = Ok(());
    for cell in running {
        closed = closed.and(cell.close().await);
    }
    match lost {
        Some(error) => Err(error.into()),
        None => Ok(closed?),
    }
}

/// Serves `listener` until the future of `work` resolves, then shuts down in order. `work` receives the runs and their
/// match plane.
///
/// # Errors
///
/// Returns the errors of [`run`] and of `work`.
pub async fn run_while<F: Future<Output = anyhow::Result<()>>>(
    listener: TcpListener,
    config: Config,
    work: impl FnOnce(Arc<Runs>) -> F,
) -> anyhow::Result<()> {
    let (stop, stopped) = oneshot::channel::<()>();
    let (up, ready) = oneshot::channel();
    let ready_then = move |runs: &Arc<Runs>| {
        let _ = up.send(runs.clone());
        Ok(())
    };
    let server = run_then(listener, config, ready_then, async {
        let _ = stopped.await;
    });
    let work = async {
        // If the server fails to start, `ready` gets no runs, and `served` holds the error.
        let done = match ready.await {
            Ok(runs) => work(runs).await,
            Err(_) => Ok(()),
        };
        drop(stop);
        done
    };
    let (served, worked) = tokio::join!(server, work);
    served.and(worked)
}

/// Returns the maximum time to wait for the store. A second server on a folder is usually a mistake, which is reported at
/// once.
fn patience(config: &Config) -> Duration {
    match config.store {
        _ if config.standby => STANDBY,
        StoreLocation::Postgres(_) => PATIENCE,
        StoreLocation::Sqlite(_) => Duration::ZERO,
    }
}

/// Returns the scheme of the server's WebSocket URL.
fn scheme(config: &Config) -> &'static str {
    if config.tls.is_some() { "wss" } else { "ws" }
}

/// Returns warnings for the operator of a server that other machines can reach.
fn warnings(tls: bool, tokens: bool) -> impl Iterator<Item = &'static str> {
    let clear = "server is reachable from other machines without TLS, so tokens are sent unencrypted; \
                 set --tls-cert and --tls-key, or listen on 127.0.0.1 behind a TLS proxy";
    let closed = "no client can connect without a token; create one with `ludex admin token add`";
    (!tls).then_some(clear).into_iter().chain((!tokens).then_some(closed))
}

/// Refuses new environments and matches. Returns when the running matches have ended or the drain time is over.
async fn drain(shared: &ServerState) {
    let cells = shared.cells.all();
    for state in cells.values() {
        state.drain();
        let until_ms = state.now_ms() + shared.config.drain.as_millis() as u64;
        state.hub.sessions.broadcast(|| Control::Drain(Draining { until_ms, resume: true }));
    }
    let idle = futures_util::future::join_all(cells.values().map(|state| state.hub.idle()));
    if tokio::time::timeout(shared.config.drain, idle).await.is_err() {
        tracing::info!("drain timed out; matches resume after the restart");
    }
}

/// Worker thread that serves connections.
struct Worker {
    tasks: mpsc::UnboundedSender<WorkerTask>,
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Worker {
    fn start(k: usize, shared: &Arc<ServerState>, listening: &Arc<Listening>, local: bool) -> anyhow::Result<Self> {
        let (tasks, incoming) = mpsc::unbounded_channel();
        let load = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (monitors, listening, busy) = (shared.workers.clone(), listening.clone(), load.clone());
        let work = move || LocalSet::new().block_on(&runtime, serve(k, incoming, monitors, listening, local, busy));
        let thread = std::thread::Builder::new().name(format!("worker-{k}")).spawn(work)?;
        Ok(Worker { tasks, load, thread })
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr) {
        self.load.fetch_add(1, Ordering::Relaxed);
        // A closed channel means that the worker panicked, which its join handle reports.
        let _ = self.tasks.send(WorkerTask::Connection(stream, peer));
    }

    fn join(self) -> anyhow::Result<()> {
        drop(self.tasks);
        self.thread.join().map_err(|_| anyhow::anyhow!("worker panicked"))
    }
}

/// Guard that counts one open connection of a worker until it is dropped.
struct Load(Arc<AtomicUsize>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(
    index: usize,
    mut incoming: mpsc::UnboundedReceiver<WorkerTask>,
    monitors: Arc<WorkerMonitors>,
    listening: Arc<Listening>,
    local: bool,
    load: Arc<AtomicUsize>,
) {
    // Started before all matches, so that they find the stall monitor of their thread.
    tokio::task::spawn_local(monitors.add().keep());
    let mut connections = JoinSet::new();
    let (local_streams, mut from_doors) = mpsc::unbounded_channel::<(DuplexStream, Peer)>();
    loop {
        tokio::select! {
            task = incoming.recv() => match task {
                Some(WorkerTask::Connection(stream, peer)) => {
                    let (listening, load) = (listening.clone(), Load(load.clone()));
                    let local_streams = local_streams.clone();
                    connections.spawn_local(async move {
                        let socket = connection(stream, peer, local, listening, local_streams).await;
                        socket.map(|socket| (socket, load))
                    });
                }
                Some(WorkerTask::Cell(state, started)) => {
                    let matches = tokio::task::spawn_local(state.hub.clone().run_matches(index));
                    // The receiver is gone if the server stops.
                    let _ = started.send(matches.abort_handle());
                }
                None => break,
            },
            Some((stream, peer)) = from_doors.recv() => {
                let Some(state) = listening.cells.first() else { continue };
                let served = http::local::serve(stream, peer, state);
                load.fetch_add(1, Ordering::Relaxed);
                let load = Load(load.clone());
                connections.spawn_local(async move {
                    served.await;
                    drop(load);
                    None
                });
            }
            Some(ended) = connections.join_next() => {
                if let Some((socket, load)) = next(ended) {
                    connections.spawn_local(async move {
                        socket.await;
                        drop(load);
                        None
                    });
                }
            }
        }
    }
    let goodbye = async {
        while let Some(ended) = connections.join_next().await {
            next(ended);
        }
    };
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    // The matches stop with this thread, so the store must get their logs first.
    let cells = listening.cells.all();
    let settled = futures_util::future::join_all(cells.values().map(|state| state.hub.settle()));
    let _ = tokio::time::timeout(GOODBYE, settled).await;
}

/// Returns the WebSocket future of a connection whose HTTP task has ended, if the connection opened a WebSocket.
fn next(ended: Result<Option<(http::Socket, Load)>, tokio::task::JoinError>) -> Option<(http::Socket, Load)> {
    ended.unwrap_or_else(|e| {
        if e.is_panic() {
            tracing::error!("connection task panicked");
        }
        None
    })
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    local: bool,
    listening: Arc<Listening>,
    local_streams: http::local::LocalStreams,
) -> Option<http::Socket> {
    let (shared, tls) = (listening.cells.first()?, listening.tls.get());
    drop(listening);
    // Moves the stream to this thread's runtime; both steps fail only if the socket is already broken.
    let stream = stream.into_std().and_then(TcpStream::from_std).ok()?;
    if let Err(e) = stream.set_nodelay(true) {
        tracing::debug!(%peer, error = %e, "setting TCP_NODELAY failed");
    }
    let ip = peer.ip().to_canonical();
    let Some(entry) = shared.permits.enter(ip) else {
        tracing::warn!(%ip, "connection limit reached");
        shared.metrics.closed("too_many");
        shared.metrics.count_refusal("connection", "too_many");
        return None;
    };
    let peer = Peer { ip, local, bearer: None, entry: Arc::new(entry) };
    let Some(tls) = &*tls else { return http::serve(stream, peer, local_streams, shared).await };
    match tokio::time::timeout(peer.hello_time(&shared.limits), tls.accept(stream)).await {
        Ok(Ok(stream)) => return http::serve(stream, peer, local_streams, shared).await,
        Ok(Err(e)) => tracing::debug!(ip = %peer.ip, error = %e, "TLS handshake failed"),
        Err(_) => tracing::debug!(ip = %peer.ip, "TLS handshake timed out"),
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tls_and_missing_tokens_each_cause_a_warning() {
        let told = |tls, tokens| warnings(tls, tokens).map(|w| w.contains("TLS")).collect::<Vec<_>>();
        assert!(told(true, true).is_empty());
        assert_eq!(told(false, true), [true]);
        assert_eq!(told(true, false), [false]);
        assert_eq!(told(false, false), [true, false]);
    }
}
