//! Probes of the server's health, for load balancers and supervisors. They are cheap and have no rate limit.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json};
use serde_json::{Value, json};

use super::Answer;
use crate::peer::Peer;
use crate::server_state::ServerState;

type App = State<(Arc<ServerState>, Peer)>;

/// Time without a heartbeat after which a worker counts as stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(10);

/// Maximum time for the store to answer.
const STORE: Duration = Duration::from_secs(2);

/// Returns true if a path is that of a probe.
pub(super) fn is_probe(path: &str) -> bool {
    matches!(path, "/health" | "/healthz" | "/readyz")
}

/// Returns the state of the server; 503 while it accepts no new work.
pub(super) async fn health(State((shared, _)): App) -> Answer {
    let cells = shared.cells.all();
    let counts = cells.values().map(|state| state.hub.sessions.count());
    let (live, parked) = counts.fold((0, 0), |(live, parked), (more, waiting)| (live + more, parked + waiting));
    let (code, status) = match shared.is_draining() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        false => (StatusCode::OK, "ok"),
    };
    let body = json!({
        "status": status, "server": ludex_play::PROGRAM, "protocol": ludex_protocol::VERSION,
        "up_ms": shared.now_ms(), "sessions": live, "parked": parked, "cells": cells.keys().collect::<Vec<_>>(),
    });
    (code, Json(body)).into_response()
}

/// Returns 200 if all threads that serve connections make progress.
pub(super) async fn alive(State((shared, _)): App) -> Answer {
    let silence = shared.workers.longest_silence();
    let stuck = format!("a worker has made no progress for {} s", silence.as_secs());
    probe((silence >= STUCK).then_some(stuck))
}

/// Returns 200 if the server accepts new work.
pub(super) async fn ready(State((shared, _)): App) -> Answer {
    if shared.is_draining() {
        return probe(Some("the server is draining".to_owned()));
    }
    if shared.cells.all().values().any(|state| !state.store.holds_lease()) {
        return probe(Some("the lease of the store has expired".to_owned()));
    }
    if let Some(error) = shared.store.write_fault() {
        // The log has the error, which names the place of the store.
        tracing::debug!(%error, "not ready");
        return probe(Some("the store cannot be written; see the server log".to_owned()));
    }
    let why = match tokio::time::timeout(STORE, shared.store.last_release()).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => {
            tracing::error!(%error, "reading the store failed");
            Some("the store cannot be read; see the server log".to_owned())
        }
        Err(_) => Some(format!("the store has not answered within {} s", STORE.as_secs())),
    };
    probe(why)
}

fn probe(why: Option<String>) -> Answer {
    match why {
        None => Json(json!({ "status": "ok" })).into_response(),
        Some(reason) => {
            let body: Value = json!({ "status": "unavailable", "reason": reason });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::config::Config;
    use crate::connection_limits::ConnectionLimits;
    use ludex_arena::metrics::Metrics;
    use ludex_store::Store;
    use ludex_store::testing::{CommitFate, DiskFault, MemoryDatabase};

    #[tokio::test]
    async fn health_and_ready_fail_while_the_server_drains() {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(data.path()).await.unwrap();
        let state = ServerState::new(Config::new(data.path()), store.clone(), Metrics::new().unwrap()).await.unwrap();
        let (shared, ip) = (Arc::new(state), [127, 0, 0, 1].into());
        let entry = ConnectionLimits::new(&shared.limits).enter(ip).unwrap();
        let peer = Peer { ip, local: true, bearer: None, entry: Arc::new(entry) };
        let app = || State((shared.clone(), peer.clone()));
        for answer in [health(app()).await, alive(app()).await, ready(app()).await] {
            assert_eq!(answer.status(), StatusCode::OK);
        }
        shared.drain();
        for answer in [health(app()).await, ready(app()).await] {
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        }
        assert_eq!(alive(app()).await.status(), StatusCode::OK, "a draining server is alive");
        drop(shared);
        store.close().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn ready_fails_while_the_store_cannot_be_written() {
        let fails = Arc::new(AtomicBool::new(false));
        let switch = fails.clone();
        let fate = move |_| match switch.load(Ordering::Relaxed) {
            true => CommitFate::Failed(DiskFault::ReadOnly),
            false => CommitFate::Stored(Duration::ZERO),
        };
        let store = MemoryDatabase::new().open(fate, || unreachable!("no commit crashes")).await.unwrap();
        let state = ServerState::new(Config::new("memory"), store.clone(), Metrics::new().unwrap()).await.unwrap();
        let (shared, ip) = (Arc::new(state), [127, 0, 0, 1].into());
        let entry = ConnectionLimits::new(&shared.limits).enter(ip).unwrap();
        let peer = Peer { ip, local: true, bearer: None, entry: Arc::new(entry) };
        let status = async || ready(State((shared.clone(), peer.clone()))).await.status();
        assert_eq!(status().await, StatusCode::OK);
        fails.store(true, Ordering::Relaxed);
        assert!(store.next("rated").await.is_err());
        assert_eq!(status().await, StatusCode::SERVICE_UNAVAILABLE);
        fails.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(status().await, StatusCode::OK);
    }
}
