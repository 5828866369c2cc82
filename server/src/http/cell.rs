//! Choice of the cell that serves a request: the one that the path names (`/c/7/...`), or the one whose match, queue or
//! registration the path concerns.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{self, HeaderValue};
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode, Uri};
use axum::middleware::Next;
use hyper::body::Incoming;
use ludex_arena::cells::ladder_name;
use ludex_protocol::{ErrorCode, Refusal};

use super::{Answer, failed};
use crate::peer::Peer;
use crate::server_state::ServerState;

type App = State<(Arc<ServerState>, Peer)>;

/// Cell that serves a request.
pub(super) enum ServingCell {
    /// Cell of this server.
    Here(Arc<ServerState>),
    /// Cell number of another server. On a WebSocket, the reply to `hello` names its URL.
    Elsewhere(u32),
}

/// Selects the cell for a request, and removes the prefix of the cell from the path.
pub(super) fn select(request: &mut Request<Incoming>, default: &Arc<ServerState>) -> ServingCell {
    let cell = default.hub.cell();
    if cell.count() == 1 {
        return ServingCell::Here(default.clone());
    }
    let named = strip(request.uri()).filter(|(number, _)| *number < cell.count()).map(|(number, uri)| {
        *request.uri_mut() = uri;
        number
    });
    let Some(number) = named.or_else(|| concerned(request.uri().path(), default)) else {
        // The connection may be older than the owned cells.
        return ServingCell::Here(default.cells.first().unwrap_or_else(|| default.clone()));
    };
    match default.cells.get(number) {
        Some(state) => ServingCell::Here(state),
        None => ServingCell::Elsewhere(number),
    }
}

/// Returns the number of the cell in the prefix of a path, and the address without the prefix.
fn strip(uri: &Uri) -> Option<(u32, Uri)> {
    let (number, rest) = match uri.path().strip_prefix("/c/")?.split_once('/') {
        Some((number, rest)) => (number, rest),
        None => (uri.path().strip_prefix("/c/")?, ""),
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("/{rest}{query}")).ok()?);
    Some((number.parse().ok()?, Uri::from_parts(parts).ok()?))
}

/// Returns the number of the only cell that can serve a path; `None` if each cell can.
fn concerned(path: &str, state: &ServerState) -> Option<u32> {
    let mut segments = path.trim_start_matches('/').split('/').skip_while(|segment| *segment == "api");
    match (segments.next()?, segments.next()) {
        // The data of matches of runs are in the store.
        ("matches", Some(id)) => Some(id).filter(|id| !id.contains('.')).map(|id| state.hub.cell().of_id(id)),
        ("ladders", Some(name)) => Some(state.hub.cell().of_name(&ladder_name(&state.hub.config.ladders, name)?)),
        // One cell, so that no name and no invitation is used twice.
        ("register", _) => state.registrar.as_ref().map(|_| 0),
        _ => None,
    }
}

/// Redirects requests for a run that is open in another cell, and for the page on which a person begins one.
pub(super) async fn redirect_runs(State((shared, _)): App, request: axum::extract::Request, next: Next) -> Answer {
    let cell = shared.hub.cell();
    if cell.count() > 1
        && let Some(suite) = open_suite(request.uri(), &shared).await
        && let number = shared.hub.cell_of_suite(&suite)
        && number != cell.number()
    {
        return elsewhere(number, request.uri(), &shared);
    }
    next.run(request).await
}

/// Returns the suite of the open run that a path names, or the suite of a run that the query is to begin.
async fn open_suite(uri: &Uri, state: &ServerState) -> Option<String> {
    let name = uri.path().strip_prefix("/runs/")?.split('/').next()?;
    match state.store.run(name).await.ok()? {
        Some(row) => Some(row.suite).filter(|_| row.ended_ms.is_none()),
        None => {
            let query = uri.query().unwrap_or_default().split('&');
            query.filter_map(|pair| pair.strip_prefix("suite=")).map(str::to_owned).next()
        }
    }
}

/// Returns the response to a request that another server serves: a redirection, or 503 while the cell has no owner.
pub(super) fn elsewhere(cell: u32, uri: &Uri, state: &ServerState) -> Answer {
    let at = state.cells.urls.of(cell).and_then(|at| {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        HeaderValue::try_from(format!("http{}{path}", at.strip_prefix("ws")?)).ok()
    });
    let Some(at) = at else {
        let error = Refusal::new(ErrorCode::Limit, format!("cell {cell} has no server at the moment; try again"));
        let mut answer = failed(StatusCode::SERVICE_UNAVAILABLE, error.after_ms(1_000));
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return answer;
    };
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    answer.headers_mut().insert(header::LOCATION, at);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_of_a_cell_is_removed() {
        let stripped = |uri: &str| strip(&uri.parse().unwrap()).map(|(cell, uri)| (cell, uri.to_string()));
        assert_eq!(stripped("/c/7/matches/m7_1?x=1"), Some((7, "/matches/m7_1?x=1".to_owned())));
        assert_eq!(stripped("/c/7"), Some((7, "/".to_owned())));
        assert_eq!(stripped("/c/7/"), Some((7, "/".to_owned())));
        for other in ["/", "/c", "/c/", "/c/x/", "/matches", "/c/-1/"] {
            assert_eq!(stripped(other), None, "{other}");
        }
    }
}
