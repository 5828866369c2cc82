//! Start and end of a cell on this server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ludex_arena::sessions::Control;
use ludex_protocol::error::close;
use ludex_store::StoreError;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::server_state::ServerState;
use crate::{operators, retention};

/// Maximum time for the clients of a cell to disconnect.
const GOODBYE: Duration = Duration::from_secs(1);

/// Interval at which a cell that ends counts its clients.
const POLL: Duration = Duration::from_millis(20);

/// Task for a worker thread.
pub(crate) enum WorkerTask {
    /// New connection of a client, with its address.
    Connection(TcpStream, SocketAddr),
    /// Cell whose matches the worker plays, and the channel for the handle of their event loop.
    Cell(Arc<ServerState>, oneshot::Sender<AbortHandle>),
}

/// Worker threads that all cells share, and the channel for the error after which a cell belongs to another server.
#[derive(Clone)]
pub(crate) struct CellHost {
    pub workers: Vec<mpsc::UnboundedSender<WorkerTask>>,
    pub lost: mpsc::UnboundedSender<StoreError>,
}

/// Owned cell and its tasks.
pub(crate) struct RunningCell {
    pub state: Arc<ServerState>,
    /// Tasks that end with the cell.
    tasks: Vec<AbortHandle>,
    /// Event loops of the worker threads.
    loops: Vec<AbortHandle>,
}

impl RunningCell {
    /// Restores the matches and runs of a cell, starts its tasks, and opens it to clients.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn start(state: Arc<ServerState>, host: &CellHost) -> anyhow::Result<Self> {
        let (hub, runs) = (&state.hub, &state.runs);
        let back = hub.restore().await?;
        runs.clone().resume_runs().await?;
        let cell = hub.cell().number();
        if back > 0 {
            tracing::info!(matches = back, cell, "matches restored");
        }
        if hub.cell().count() > 1 {
            tracing::info!(cell, "cell taken");
        }
        let mut loops = Vec::with_capacity(host.workers.len());
        for worker in &host.workers {
            let (started, handle) = oneshot::channel();
            // A closed channel means that the worker panicked, which its join handle reports.
            let _ = worker.send(WorkerTask::Cell(state.clone(), started));
            loops.extend(handle.await);
        }
        let (store, lost) = (state.store.clone(), host.lost.clone());
        let mut tasks = vec![
            tokio::spawn(operators::watch(Arc::downgrade(&state))),
            tokio::spawn(runs.clone().watch_runs()),
            tokio::spawn(hub.clone().watch_ladders()),
            tokio::spawn(hub.clone().watch_ended()),
            tokio::spawn(async move { drop(lost.send(store.wait_until_lost().await)) }),
        ];
        if cell == 0 {
            tasks.push(tokio::spawn(retention::watch(Arc::downgrade(&state))));
        }
        state.cells.insert(cell, state.clone());
        Ok(RunningCell { tasks: tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect(), state, loops })
    }

    /// Stops the tasks, and closes the connections of the cell. Its clients resume with its next owner.
    pub fn close_connections(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        self.state.hub.sessions.broadcast(|| Control::Close(close::RESTART));
    }

    /// Stores the logs of the matches, and gives up the cell. Its connections must be closed.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn close(self) -> Result<(), StoreError> {
        self.state.hub.settle().await;
        self.state.hub.close_ladders().await;
        self.loops.iter().for_each(AbortHandle::abort);
        self.state.store.clone().close().await
    }

    /// Gives up the cell of a server that keeps running.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn hand_over(self) -> Result<(), StoreError> {
        self.state.cells.remove(self.state.hub.cell().number());
        self.state.drain();
        self.close_connections();
        let closed = async {
            while self.state.hub.sessions.count().0 > 0 {
                tokio::time::sleep(POLL).await;
            }
        };
        let _ = tokio::time::timeout(GOODBYE, closed).await;
        self.close().await
    }
}
