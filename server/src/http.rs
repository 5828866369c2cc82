//! HTTP on the server's single port: WebSocket upgrades, a read-only JSON API, and web pages.

mod access;
mod access_log;
mod admission;
mod cell;
mod client_address;
mod games;
mod guard;
mod health;
mod json_api;
pub(crate) mod local;
mod responses;
mod route;
mod site;
mod token;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::ready;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::{IntoResponse, Json};
use futures_util::future::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ludex_gym::compute::{JobError, internal};
use ludex_protocol::error::truncate_text;
use ludex_protocol::{Encoding, ErrorCode, Refusal};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use self::access_log::AccessLine;
use self::cell::ServingCell;
use self::client_address::client_address;
use self::guard::GuardRejection;
pub(crate) use self::health::STUCK;
use self::route::Route;
use crate::peer::Peer;
use crate::server_state::ServerState;
use crate::session::{self, ServerSocket};

/// Maximum size of a request head in bytes.
const HEAD: usize = 16 << 10;

/// Future that serves a connection after its WebSocket upgrade.
pub(crate) type Socket = Pin<Box<dyn Future<Output = ()>>>;

/// Serves the HTTP requests of one connection. If a request opens a WebSocket, returns a future that serves the
/// WebSocket. The caller runs this future as a separate task, so that the HTTP state can be freed.
pub(crate) async fn serve<S>(
    io: S,
    peer: Peer,
    local_streams: local::LocalStreams,
    shared: Arc<ServerState>,
) -> Option<Socket>
where
    S: session::Io + Send + 'static,
{
    let (programs, people, through_door) = (LastRoutes::default(), LastRoutes::default(), LastRoutes::default());
    let opened: Cell<Option<Upgrade>> = Cell::new(None);
    let service = service_fn(|mut request: Request<Incoming>| {
        let ip = client_address(peer.ip, request.headers(), &shared.config.trusted_proxies);
        let peer = Peer { ip, ..peer.clone() };
        let (started, line) = (Instant::now(), AccessLine::of(&request, &peer, &shared));
        let (shared, elsewhere) = match cell::select(&mut request, &shared) {
            ServingCell::Here(state) => (state, None),
            ServingCell::Elsewhere(cell) => (shared.clone(), Some(cell)),
        };
        let number = shared.hub.cell().number();
        let door = shared.config.doors.iter().find(|door| door.has(request.uri().path()));
        let body = match door {
            Some(door) => door.body_bytes,
            None => site::body_limit(request.method(), request.uri().path()),
        };
        let guarded = guard::request(&request, body, peer.local, &shared.config.hosts);
        let asked = match guarded {
            // The handlers of a door accept WebSockets themselves.
            Ok(()) if door.is_some() => guard::origin(request.headers(), &shared.config.origins).err().map(Err),
            Ok(()) => upgrade(&request, &shared),
            Err(refused) => Some(Err(refused)),
        };
        let upgrade = asked.map(|accepted| {
            let accepted = accepted.map_err(|refused| refuse(refused, &request, &peer, &shared));
            accepted.map(|(encoding, answer)| {
                let peer = Peer { bearer: token::of(request.headers()), ..peer.clone() };
                let (socket, shared) = (hyper::upgrade::on(&mut request), shared.clone());
                opened.set(Some(Upgrade { socket, encoding, peer, shared, cell: elsewhere.unwrap_or(number) }));
                answer
            })
        });
        let prefix = door.map(|door| door.prefix);
        let upgrade = upgrade.or_else(|| elsewhere.map(|cell| Ok(cell::elsewhere(cell, request.uri(), &shared))));
        let served = match upgrade {
            Some(answer) => {
                Either::Left(Either::Left(ready(Ok::<_, Infallible>(answer.unwrap_or_else(|refusal| refusal)))))
            }
            None => {
                let api = || json_api::routes(shared.clone(), peer.clone());
                let routes = match door {
                    Some(door) => through_door.of((door.prefix, ip, number), || {
                        (door.routes)(local::connector(local_streams.clone(), peer.clone(), shared.clone()))
                    }),
                    None if site::is_for_people(request.headers()) => {
                        people.of(("", ip, number), || site::routes(shared.clone(), peer.clone(), api()))
                    }
                    None => programs.of(("", ip, number), api),
                };
                match door.is_some() && says(request.headers(), header::UPGRADE, "websocket") {
                    true => Either::Left(Either::Right(door_socket(request, routes))),
                    false => Either::Right(page(request, routes, door.is_some(), peer, shared.clone())),
                }
            }
        };
        observed(served, prefix, started, line, shared.clone())
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(peer.hello_time(&shared.limits))
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(session::timed(io, Duration::from_millis(shared.limits.hello_ms))), service)
        .with_upgrades()
        .await;
    if let Err(e) = served {
        tracing::debug!(ip = %peer.ip, error = %e, "HTTP connection failed");
    }
    Some(Box::pin(socket::<S>(opened.take()?)))
}

/// Counts a request once its response is known, and logs the request if the server has an access log. `prefix` is that
/// of a door.
async fn observed(
    served: impl Future<Output = Result<Answer, Infallible>>,
    prefix: Option<&'static str>,
    started: Instant,
    line: Option<AccessLine>,
    shared: Arc<ServerState>,
) -> Result<Answer, Infallible> {
    let mut answer = served.await?;
    let route = answer.extensions_mut().remove::<Route>();
    let name = prefix.or(route.as_ref().map(Route::name)).unwrap_or(route::OTHER);
    shared.metrics.count_http(name, answer.status().as_u16(), started.elapsed());
    Ok(match line {
        Some(line) => line.attach(answer, &shared).await,
        None => answer,
    })
}

/// WebSocket that a request opens.
struct Upgrade {
    socket: OnUpgrade,
    encoding: Encoding,
    peer: Peer,
    shared: Arc<ServerState>,
    /// Number of the cell that the request names.
    cell: u32,
}

/// Serves a WebSocket after the HTTP upgrade.
async fn socket<S>(upgrade: Upgrade)
where
    S: session::Io + Send + 'static,
{
    let Upgrade { socket, encoding, peer, shared, cell } = upgrade;
    let upgraded = match socket.await {
        Ok(upgraded) => upgraded,
        Err(e) => return tracing::debug!(ip = %peer.ip, error = %e, "WebSocket upgrade failed"),
    };
    // Recovers the concrete stream type, so that the WebSocket reads and writes without a trait object.
    let Ok(parts) = upgraded.downcast::<TokioIo<session::TimedIo<S>>>() else {
        return tracing::error!("upgraded connection has an unexpected type");
    };
    shared.metrics.connections.increment(1.0);
    let wire = ServerSocket::new(parts.io.into_inner(), parts.read_buf.to_vec(), encoding, &shared.limits).await;
    session::serve(wire, peer, shared.clone(), cell).await;
    shared.metrics.connections.decrement(1.0);
}

type Answer = Response<Body>;

/// Router of a connection, and the client address for which it was created. A router is large and most connections
/// request no page, so it is created on first use. Behind a proxy, one connection may serve several clients.
#[derive(Default)]
struct LastRoutes(RefCell<Option<(RoutesKey, TowerToHyperService<Router>)>>);

/// Prefix of a door, or nothing for the server's own routes, address of the client, and number of the cell.
type RoutesKey = (&'static str, IpAddr, u32);

impl LastRoutes {
    fn of(&self, key: RoutesKey, create: impl FnOnce() -> Router) -> TowerToHyperService<Router> {
        let mut last = self.0.borrow_mut();
        if let Some((_, routes)) = last.as_ref().filter(|(known, _)| *known == key) {
            return routes.clone();
        }
        let (_, routes) = last.insert((key, TowerToHyperService::new(create())));
        routes.clone()
    }
}

/// Serves a door's request for a WebSocket. Limits of pages do not apply, as for the server's own WebSockets: those of
/// the in-process connection do. A connection whose request is refused is closed, so that each costs a connection.
async fn door_socket(request: Request<Incoming>, routes: TowerToHyperService<Router>) -> Result<Answer, Infallible> {
    let mut answer = routes.call(request).await?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        admission::close_after(&mut answer);
    }
    Ok(answer)
}

/// Serves a page, unless the client has reached a limit.
async fn page(
    request: Request<Incoming>,
    routes: TowerToHyperService<Router>,
    is_door: bool,
    peer: Peer,
    shared: Arc<ServerState>,
) -> Result<Answer, Infallible> {
    // Probes bypass all limits, so a busy server answers them too.
    if health::is_probe(request.uri().path()) {
        let mut answer = routes.call(request).await?;
        if peer.entry.is_reserved() {
            admission::close_after(&mut answer);
        }
        return Ok(answer);
    }
    if let Err(refusal) = admission::admit(&request, is_door, &peer, &shared).await {
        return Ok(*refusal);
    }
    // Monitoring must work even while the compute pool is busy.
    if request.uri().path() == "/metrics" {
        return routes.call(request).await;
    }
    let options = responses::ResponseOptions::of(&request);
    let answer = routes.call(request).await?;
    Ok(responses::finish(answer, options, &peer, &shared).await)
}

/// Computes a part of a response as a job of the client's address.
///
/// # Errors
///
/// The error response if the server stops or the job panics.
async fn compute<T: Send + 'static>(
    shared: &ServerState,
    peer: &Peer,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<Answer>> {
    shared.gym.compute.run(&peer.job_owner(), work).await.map_err(|error| {
        Box::new(match error {
            JobError::Stopped => {
                let error = Refusal::new(ErrorCode::Draining, "server is shutting down; try again after the restart");
                failed(StatusCode::SERVICE_UNAVAILABLE, error)
            }
            JobError::Panicked => failed(StatusCode::INTERNAL_SERVER_ERROR, *internal()),
        })
    })
}

/// Returns the response to a WebSocket request, or its rejection; `None` for other requests.
fn upgrade(request: &Request<Incoming>, shared: &ServerState) -> Option<Result<(Encoding, Answer), GuardRejection>> {
    let headers = request.headers();
    let path = request.uri().path();
    if !says(headers, header::UPGRADE, "websocket") || !matches!(path, "/" | "/ws") {
        return None;
    }
    Some(if request.method() != Method::GET || !says(headers, header::CONNECTION, "upgrade") {
        Err((StatusCode::BAD_REQUEST, "request", "expected GET with the header Connection: Upgrade"))
    } else if !says(headers, header::SEC_WEBSOCKET_VERSION, "13") {
        Err((StatusCode::UPGRADE_REQUIRED, "version", "expected WebSocket version 13"))
    } else {
        let own =
            token::bearer(headers).is_some() || token::in_cookie(headers).is_none() || token::is_from_here(headers);
        match guard::upgrade(request, &shared.config.origins) {
            Ok(_) if !own => Err((
                StatusCode::FORBIDDEN,
                "cookie",
                "expected the token in the Authorization header; the cookie is valid only for pages of this server",
            )),
            checked => checked.map(|key| {
                let (encoding, mut answer) = open(headers, key);
                answer.extensions_mut().insert(Route::new(path));
                (encoding, answer)
            }),
        }
    })
}

/// Returns true if a header lists a word.
fn says(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|v: &HeaderValue| v.to_str().ok());
    values.flat_map(|v| v.split(',')).any(|w| w.trim().eq_ignore_ascii_case(word))
}

/// Logs a rejected request and returns the response.
fn refuse(
    (status, why, says): GuardRejection,
    request: &Request<Incoming>,
    peer: &Peer,
    shared: &ServerState,
) -> Answer {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).map(truncate_text);
    let (host, origin) = (header(header::HOST), header(header::ORIGIN));
    tracing::warn!(ip = %peer.ip, why, host, origin, "request rejected");
    shared.metrics.count_refusal("request", why);
    let code = if status == StatusCode::BAD_REQUEST { ErrorCode::BadMessage } else { ErrorCode::Forbidden };
    let mut answer = failed(status, Refusal::new(code, says));
    if status == StatusCode::UPGRADE_REQUIRED {
        answer.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    answer
}

/// Returns the response that opens a WebSocket. The encoding is the first one in the client's list that the server
/// supports.
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

fn failed(status: StatusCode, error: Refusal) -> Answer {
    (status, Json(error)).into_response()
}
