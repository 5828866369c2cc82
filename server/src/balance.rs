//! Distribution of the cells of a store over its servers: each server takes free cells up to an equal share, and gives up
//! those above it.

use std::sync::Arc;
use std::time::Duration;

use ludex_store::{Store, StoreError, StoreOptions};
use tokio::sync::Mutex;

use crate::cells::OwnedCells;
use crate::running_cell::{CellHost, RunningCell};
use crate::server_state::ServerState;

/// Interval between two looks at the owners of the cells.
const LOOK: Duration = Duration::from_millis(500);

/// Keeps the URLs of all cells current, and this server's share of the cells. It takes or gives up one cell at a time, so
/// that few matches wait.
pub(crate) async fn balance(
    cells: Arc<OwnedCells<ServerState>>,
    running: Arc<Mutex<Vec<RunningCell>>>,
    host: CellHost,
    options: StoreOptions,
) {
    loop {
        let Some(state) = cells.first() else { return };
        match step(&state, &running, &host, &options).await {
            // The owners have changed.
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::error!(error = %format!("{error:#}"), "distribution of the cells failed"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Takes or gives up one cell, if this server has less or more than its share; then returns true.
async fn step(
    state: &ServerState,
    running: &Mutex<Vec<RunningCell>>,
    host: &CellHost,
    options: &StoreOptions,
) -> anyhow::Result<bool> {
    let table = state.store.cells().await?;
    let (share, has_free) = (table.share() as usize, table.owners.iter().any(Option::is_none));
    state.cells.urls.set(table);
    let mut running = running.lock().await;
    if running.len() < share && has_free {
        let store = match Store::open_with(state.store.location().clone(), options.clone()).await {
            Ok(store) => store,
            // Another server was faster.
            Err(StoreError::Locked { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        running.push(RunningCell::start(Arc::new(state.adopt(store).await?), host).await?);
        return Ok(true);
    }
    if running.len() > share
        && let Some(surplus) = running.pop()
    {
        let cell = surplus.state.hub.cell().number();
        surplus.hand_over().await?;
        tracing::info!(cell, "cell given up");
        return Ok(true);
    }
    Ok(false)
}
