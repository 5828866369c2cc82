//! Commands of operators in other processes. They reach a running server through its store: revoked tokens, suspended
//! owners, and requests to end matches.

use std::collections::HashSet;
use std::sync::Weak;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use ludex_play::time::clock_jump_ms;
use ludex_protocol::record::EndReason;
use ludex_store::{MatchState, Store, StoreError, StoreLocation, Write};

use crate::server_state::ServerState;
use ludex_arena::matches::stored_end;

/// Interval at which a server reads the commands.
const AGAIN: Duration = Duration::from_secs(1);
/// Maximum time to wait for a server to process a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum time to wait until the end of a match is stored, once the server has processed the request.
const STORED: Duration = Duration::from_secs(2);
/// Interval at which the result of a request is polled.
const POLL: Duration = Duration::from_millis(50);

/// Executes the commands of operators until the server stops, and closes connections whose token has expired. Logs faults
/// of the store and jumps of the clock.
pub(crate) async fn watch(shared: Weak<ServerState>) {
    let (mut failed, mut faulty, mut jumped) = (false, false, false);
    loop {
        tokio::time::sleep(AGAIN).await;
        let Some(shared) = shared.upgrade() else { return };
        match shared.store.write_fault() {
            Some(error) if !faulty => tracing::error!(%error, "store cannot be written"),
            None if faulty => tracing::info!("store can be written again"),
            _ => {}
        }
        faulty = shared.store.write_fault().is_some();
        let jump_ms = clock_jump_ms();
        match jump_ms {
            Some(jump_ms) if !jumped => tracing::error!(
                jump_ms,
                "wall clock jumped; the server keeps its own time until the clock is right again or the server restarts"
            ),
            None if jumped => tracing::info!("wall clock is right again"),
            _ => {}
        }
        jumped = jump_ms.is_some();
        let done = execute(&shared).await;
        if let Err(error) = &done
            && !failed
        {
            tracing::error!(%error, "reading the commands of operators failed");
        }
        failed = done.is_err();
    }
}

async fn execute(shared: &ServerState) -> Result<(), StoreError> {
    let (hub, store) = (&shared.hub, &shared.store);
    let used = hub.sessions.tokens();
    if !used.is_empty() {
        let (void, suspended) = (store.void_tokens(used, shared.epoch_ms()).await?, store.suspended_owners().await?);
        hub.sessions.close_void(|session, token| {
            let owner = session.about.owner.as_ref();
            token.is_some_and(|token| void.contains(&token)) || owner.is_some_and(|owner| suspended.contains(owner))
        });
    }
    for id in store.end_requests().await? {
        if hub.cell_of_match(&id).await.is_some_and(|cell| cell != hub.cell().number()) {
            continue;
        }
        hub.end_match(&id).await?;
        store.write(vec![Write::EndProcessed { id }]).await?;
    }
    Ok(())
}

/// Process that has ended a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The running server, which has notified the clients.
    Server,
    /// The calling process, since no server is running.
    Command,
}

/// Ends a running match in a store as aborted: no seat is at fault, and the match does not count. If a server uses the
/// store, waits until the server has ended the match.
///
/// # Errors
///
/// Fails if no running match has this id, the server does not end the match in time, or the store fails.
pub async fn end_match(location: &StoreLocation, id: &str) -> anyhow::Result<EndedBy> {
    // Fails if the store is missing, instead of creating it.
    Store::open_shared(location).await?.close().await?;
    match Store::open(location).await {
        Ok(store) => {
            let ended = end_stored(&store, id).await;
            store.close().await?;
            ended.map(|()| EndedBy::Command)
        }
        Err(StoreError::Locked { .. }) => {
            let store = Store::open_shared(location).await?;
            let ended = request_end(&store, id).await;
            store.close().await?;
            ended.map(|()| EndedBy::Server)
        }
        Err(error) => Err(error.into()),
    }
}

async fn end_stored(store: &Store, id: &str) -> anyhow::Result<()> {
    ensure!(is_running(store.match_state(id).await?), "expected the id of a running match, got {id}");
    let end = stored_end(EndReason::Aborted, "an operator ended the match");
    Ok(store.write(vec![Write::MatchEnd { id: id.to_owned(), acts: Vec::new(), end }]).await?)
}

fn is_running(state: Option<MatchState>) -> bool {
    state.is_some_and(|state| !state.ended)
}

async fn request_end(store: &Store, id: &str) -> anyhow::Result<()> {
    let is_ended = async || Ok::<_, StoreError>(store.match_state(id).await?.is_some_and(|state| state.ended));
    ensure!(!is_ended().await?, "expected the id of a running match, got {id}, which has ended");
    store.write(vec![Write::EndRequested { id: id.to_owned() }]).await?;
    let (begun, mut processed) = (Instant::now(), None::<Instant>);
    loop {
        tokio::time::sleep(POLL).await;
        if is_ended().await? {
            return Ok(());
        }
        if processed.is_none() && !store.end_requests().await?.iter().any(|requested| requested == id) {
            processed = Some(Instant::now());
        }
        // A match that has just started may not be in the store yet.
        if processed.is_some_and(|at| at.elapsed() > STORED) {
            bail!("expected the id of a running match, got {id}");
        }
        if processed.is_none() && begun.elapsed() > PATIENCE {
            bail!("expected {id} to end within {} s, but the server is delayed; see its log", PATIENCE.as_secs());
        }
    }
}

/// Suspends an owner: a server closes the connections of the owner, and refuses new connections until the owner is
/// [resumed](resume). Returns false if the owner was already suspended.
///
/// # Errors
///
/// Returns an error if the owner has no token, or if the store fails.
pub async fn suspend(store: &Store, owner: &str, now_ms: i64) -> anyhow::Result<bool> {
    let owners: HashSet<String> = store.tokens().await?.into_iter().map(|row| row.owner).collect();
    ensure!(owners.contains(owner), "expected the owner of a token, got {owner:?}; see `ludex admin token list`");
    let new = !store.suspended_owners().await?.contains(owner);
    store.write(vec![Write::Suspended { owner: owner.to_owned(), since_ms: now_ms }]).await?;
    Ok(new)
}

/// Ends the suspension of an owner. Returns false if the owner was not suspended.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn resume(store: &Store, owner: &str) -> Result<bool, StoreError> {
    let suspended = store.suspended_owners().await?.contains(owner);
    store.write(vec![Write::Resumed { owner: owner.to_owned() }]).await?;
    Ok(suspended)
}
