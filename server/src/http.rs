//! HTTP on the one port: the upgrade to a WebSocket, and read-only JSON.

use std::cell::{Cell, OnceCell};
use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::{IntoResponse, Json};
use axum::routing::get;
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ludex_protocol::message::ListMatches;
use ludex_protocol::{Encoding, ErrorCode, Refusal};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::auth::{self, Scopes};
use crate::owners::Goods;
use crate::peer::Peer;
use crate::session::{self, Wire};
use crate::shared::Shared;

/// Bytes of a request's head.
const HEAD: usize = 16 << 10;

/// The rest of a connection that became a WebSocket.
pub(crate) type Socket = Pin<Box<dyn Future<Output = ()>>>;

/// Serves the requests of one connection. If the last one opened a WebSocket, that is returned, to be run as a task of
/// its own: this one and all that HTTP needed are gone then.
pub(crate) async fn serve<S>(io: S, peer: Peer, shared: Arc<Shared>) -> Option<Socket>
where
    S: session::Io + Send + 'static,
{
    // Most connections ask for no page: a router has some size, and they would hold one each for life.
    let routes = OnceCell::new();
    let opened: Cell<Option<(OnUpgrade, Encoding, Peer)>> = Cell::new(None);
    let service = service_fn(|mut request: Request<Incoming>| {
        let upgrade = upgrade(&request, &peer, &shared).map(|accepted| {
            accepted.map(|(encoding, answer)| {
                let peer = Peer { bearer: bearer(request.headers()), ..peer.clone() };
                opened.set(Some((hyper::upgrade::on(&mut request), encoding, peer)));
                answer
            })
        });
        match upgrade {
            Some(answer) => Either::Left(ready(Ok::<_, Infallible>(answer.unwrap_or_else(|refusal| refusal)))),
            None => {
                let routes = routes.get_or_init(|| TowerToHyperService::new(pages(shared.clone(), peer.clone())));
                Either::Right(routes.call(request))
            }
        }
    });
    let head = Duration::from_millis(shared.limits.hello_ms);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades()
        .await;
    if let Err(e) = served {
        tracing::debug!("{}: {e}", peer.ip);
    }
    let (upgraded, encoding, peer) = opened.take()?;
    Some(Box::pin(socket::<S>(upgraded, encoding, peer, shared.clone())))
}

/// The WebSocket after the upgrade.
async fn socket<S>(upgraded: OnUpgrade, encoding: Encoding, peer: Peer, shared: Arc<Shared>)
where
    S: session::Io + Send + 'static,
{
    let upgraded = match upgraded.await {
        Ok(upgraded) => upgraded,
        Err(e) => return tracing::debug!("{}: no upgrade: {e}", peer.ip),
    };
    // The stream itself again: what runs on every request must not go through a trait object.
    let Ok(parts) = upgraded.downcast::<TokioIo<S>>() else {
        return tracing::error!("an upgraded connection is of another type than it was");
    };
    shared.metrics.connections.increment(1.0);
    let wire = Wire::new(parts.io.into_inner(), parts.read_buf.to_vec(), encoding, &shared.limits).await;
    session::serve(wire, peer, shared.clone()).await;
    shared.metrics.connections.decrement(1.0);
}

type Answer = Response<Body>;

/// If the request asks for a WebSocket: the answer that opens it, or why not.
fn upgrade(request: &Request<Incoming>, peer: &Peer, shared: &Shared) -> Option<Result<(Encoding, Answer), Answer>> {
    let headers = request.headers();
    let says = |name, word: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|v: &HeaderValue| v.to_str().ok());
        values.flat_map(|v| v.split(',')).any(|w| w.trim().eq_ignore_ascii_case(word))
    };
    let path = request.uri().path();
    if !says(header::UPGRADE, "websocket") || !matches!(path, "/" | "/ws") {
        return None;
    }
    Some(match headers.get(header::SEC_WEBSOCKET_KEY) {
        _ if request.method() != Method::GET || !says(header::CONNECTION, "upgrade") => {
            Err(plain(StatusCode::BAD_REQUEST, "a WebSocket is opened by GET with Connection: Upgrade"))
        }
        _ if !says(header::SEC_WEBSOCKET_VERSION, "13") => {
            let mut answer = plain(StatusCode::UPGRADE_REQUIRED, "this server speaks WebSocket version 13");
            answer.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            Err(answer)
        }
        None => Err(plain(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key is missing")),
        Some(_) if !origin_allowed(headers, &shared.config.origins) => {
            tracing::warn!("{}: refused the origin {:?}", peer.ip, headers.get(header::ORIGIN));
            Err(plain(
                StatusCode::FORBIDDEN,
                "this web page may not connect; the operator can allow it (serve --origin)",
            ))
        }
        Some(key) => Ok(open(headers, key)),
    })
}

/// The answer that opens a WebSocket, in the first encoding of the client's list that we speak.
fn open(headers: &HeaderMap, key: &HeaderValue) -> (Encoding, Answer) {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|v| v.to_str().ok());
    let chosen = offered.flat_map(|v| v.split(',')).find_map(|name| Encoding::from_subprotocol(name.trim()));
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = answer.headers_mut();
    fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        fields.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(encoding) = chosen {
        fields.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(encoding.subprotocol()));
    }
    (chosen.unwrap_or(Encoding::Json), answer)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Programs send no origin; browsers always do. Any page that somebody visits could connect to a server on the same
/// machine, which lets guests in: so only pages of this machine may, and those that the operator names.
fn origin_allowed(headers: &HeaderMap, allowed: &[String]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
        || allowed.iter().any(|a| a == "*" || a.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    (status, text).into_response()
}

// ---- pages ----------------------------------------------------------------------------------------------------------

type App = State<(Arc<Shared>, Peer)>;

/// The read-only routes. Where tokens are required, `/metrics`, `/matches` and `/ratings` want one too. `/health` and
/// `/games` tell nothing of anybody, and `/episodes` shows only what the public may see.
fn pages(shared: Arc<Shared>, peer: Peer) -> Router {
    Router::new()
        .route(
            "/",
            get(|| async { plain(StatusCode::OK, "ludex: the protocol is spoken over a WebSocket here and at /ws\n") }),
        )
        .route(
            "/ws",
            get(|| async { plain(StatusCode::UPGRADE_REQUIRED, "the protocol is spoken over a WebSocket here\n") }),
        )
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/games", get(games))
        .route("/matches", get(matches))
        .route("/ratings", get(ratings))
        .route("/episodes/{id}", get(episode))
        .fallback(|| async {
            failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadMessage, "there is no such page"))
        })
        .with_state((shared, peer))
}

fn failed(status: StatusCode, error: Refusal) -> Answer {
    (status, Json(error)).into_response()
}

/// What the asker may do, or the answer that says why nothing.
async fn granted((shared, peer): &(Arc<Shared>, Peer), headers: &HeaderMap) -> Result<Scopes, Box<Answer>> {
    let token = bearer(headers);
    match auth::admit(&shared.store, token.as_deref(), peer.guests_welcome(), shared.epoch_ms()).await {
        Ok(grant) => Ok(grant.scopes),
        Err(e) => {
            let error = Refusal::new(ErrorCode::Unauthorized, e.to_string());
            Err(Box::new(failed(StatusCode::UNAUTHORIZED, error)))
        }
    }
}

async fn health(State((shared, _)): App) -> Answer {
    let (live, parked) = shared.hub.sessions.count();
    let status = if shared.is_draining() { "draining" } else { "ok" };
    let body = serde_json::json!({
        "status": status, "server": ludex_play::PROGRAM, "protocol": ludex_protocol::VERSION,
        "up_ms": shared.now_ms(), "sessions": live, "parked": parked,
    });
    Json(body).into_response()
}

async fn metrics(State(app): App, headers: HeaderMap) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let (live, parked) = app.0.hub.sessions.count();
    app.0.metrics.live.set(live as f64);
    app.0.metrics.parked.set(parked as f64);
    app.0.metrics.queued.set(app.0.hub.compute.queued() as f64);
    for account in app.0.hub.sessions.owners.all() {
        Goods::ALL.iter().for_each(|&goods| app.0.metrics.owner(&account.name, goods.name(), account.held(goods)));
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, app.0.metrics.render()).into_response()
}

async fn games(State((shared, _)): App) -> Answer {
    Json(serde_json::json!({ "games": shared.catalogue.entries() })).into_response()
}

#[derive(Deserialize)]
struct MatchQuery {
    game: Option<String>,
    live: Option<bool>,
    limit: Option<u32>,
}

type Asked<T> = Result<Query<T>, QueryRejection>;

fn misunderstood(e: &QueryRejection) -> Answer {
    failed(StatusCode::BAD_REQUEST, Refusal::new(ErrorCode::BadField, e.body_text()))
}

async fn matches(State(app): App, headers: HeaderMap, query: Asked<MatchQuery>) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let Query(query) = match query {
        Ok(query) => query,
        Err(e) => return misunderstood(&e),
    };
    let default = ListMatches::default();
    let which = ListMatches {
        game: query.game,
        live: query.live.unwrap_or(default.live),
        limit: query.limit.unwrap_or(default.limit),
    };
    Json(app.0.hub.matches(&which)).into_response()
}

#[derive(Deserialize)]
struct RatingQuery {
    game: Option<String>,
}

async fn ratings(State(app): App, headers: HeaderMap, query: Asked<RatingQuery>) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let Query(query) = match query {
        Ok(query) => query,
        Err(e) => return misunderstood(&e),
    };
    match app.0.ratings.of(&app.0.store, &app.0.hub.compute, query.game.as_deref()).await {
        Ok(table) => Json(table).into_response(),
        Err(error) => {
            tracing::error!("ratings: {error:#}");
            let error = Refusal::new(ErrorCode::Internal, "the ratings could not be made; the log says why");
            failed(StatusCode::INTERNAL_SERVER_ERROR, error)
        }
    }
}

async fn episode(State(app): App, Path(id): Path<String>) -> Answer {
    // Everybody sees what a public spectator sees, and the whole record once it is released.
    match app.0.hub.episode(&id).await {
        Some(record) => Json(record).into_response(),
        None => {
            let error = Refusal::new(ErrorCode::UnknownMatch, "there is no such episode");
            failed(StatusCode::NOT_FOUND, error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_pages_are_kept_out() {
        let from = |origin: &'static str| HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(origin))]);
        assert!(origin_allowed(&HeaderMap::new(), &[]));
        for home in ["http://localhost:3000", "http://127.0.0.1:7878", "http://[::1]:80", "https://localhost"] {
            assert!(origin_allowed(&from(home), &[]), "{home}");
        }
        for away in
            ["https://evil.example", "null", "http://localhost.evil.example", "file://", "http://127.0.0.1.evil"]
        {
            assert!(!origin_allowed(&from(away), &[]), "{away}");
        }
        assert!(origin_allowed(&from("https://good.example"), &["https://good.example/".into()]));
        assert!(origin_allowed(&from("https://any.example"), &["*".into()]));
    }
}
