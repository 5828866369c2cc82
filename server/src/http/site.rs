//! Web pages for people, which `ludex-pages` renders. A request with `Accept: text/html` gets a page. Other requests to
//! the same address get JSON.

mod agent;
mod assets;
mod errors;
mod form;
mod game;
mod home;
mod ladders;
mod login;
mod matches;
mod play;
mod register;
mod run_play;
mod runs;
mod scales;
mod svg;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use ludex_pages::{AccountLink, Page, RenderError, Visitor};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::route::{self, Route};
use super::{Answer, access, cell, compute, games, token};
use crate::auth::{self, Grant};
use crate::page_cache::{PageKey, PageKind};
use crate::peer::Peer;
use crate::response_body::ResponseBody;
use crate::server_state::ServerState;

type App = State<(Arc<ServerState>, Peer)>;

/// Content security policy. All resources come from this server, and pages contain no inline scripts. Inline styles are
/// allowed, since pictures contain style sheets.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Maximum size of a form in bytes.
const FORM: u64 = 4_096;

/// Request headers that select the response at an address.
pub(super) const VARY: &str = "accept, cookie";

/// Headers of every page.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::VARY, VARY),
    (header::CACHE_CONTROL, "private, no-cache"),
];

/// Returns true if the request accepts HTML, as a page navigation in a browser does.
pub(super) fn is_for_people(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// Returns the routes of the pages. All other requests go to the routes `programs`. If a request from a browser matches
/// no route, the browser gets an error page.
pub(super) fn routes(shared: Arc<ServerState>, peer: Peer, programs: Router) -> Router {
    let registration = match shared.registrar.is_some() {
        true => Router::new()
            .route("/register", get(register::page).post(register::register))
            .route("/register/revoke", get(register::page).post(register::revoke)),
        false => Router::new(),
    };
    Router::new()
        .route("/", get(home::page))
        .route("/games", get(home::page))
        .route("/games/{id}", get(game::page))
        .route("/matches", get(matches::list))
        .route("/matches/{id}", get(matches::page))
        .route("/agents/{name}", get(agent::page))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::page))
        .route("/runs/{run}/play", get(run_play::page))
        .route("/runs/{run}/consent", post(run_play::consent))
        .route("/ladders", get(ladders::list))
        .route("/ladders/{ladder}", get(ladders::page))
        .route("/play/{id}", get(play::page))
        .route("/login", get(login::page))
        .merge(registration)
        .with_state((shared.clone(), peer.clone()))
        .fallback_service(programs)
        .layer(from_fn_with_state((shared.clone(), peer.clone()), filled))
        .layer(from_fn_with_state((shared, peer), cell::redirect_runs))
        .layer(from_fn(route::attach))
}

/// Returns the routes of assets and of forms. Browsers request assets without `Accept: text/html`.
pub(super) fn parts(may_register: bool) -> Router<(Arc<ServerState>, Peer)> {
    let registration = match may_register {
        true => {
            Router::new().route("/register", post(register::register)).route("/register/revoke", post(register::revoke))
        }
        false => Router::new(),
    };
    registration
        .route("/static/{file}", get(assets::file))
        .route("/games/{id}/picture.svg", get(game::picture))
        .route("/matches/{id}/picture.svg", get(matches::picture))
        .route("/matches/{id}/notation", get(matches::notation))
        .route("/login", post(login::enter))
        .route("/logout", post(login::leave))
}

/// Returns the maximum size of a request's body in bytes: 0, except for forms.
pub(super) fn body_limit(method: &Method, path: &str) -> u64 {
    match (method, path) {
        (&Method::POST, "/register" | "/register/revoke") => FORM,
        (&Method::POST, path) if path.starts_with("/runs/") && path.ends_with("/consent") => FORM,
        _ => 0,
    }
}

/// Response for a visitor without access: the login page.
type Shut = Box<Answer>;

/// Returns the visitor's permissions, or the login page if the visitor has no access.
async fn admitted(app: &(Arc<ServerState>, Peer), headers: &HeaderMap, at: &str) -> Result<Grant, Shut> {
    access::grant(app, headers).await.map_err(|error| shut(headers, at, &error.to_string()))
}

/// Returns the login page for a visitor without access, with the reason `why` if the visitor has a token.
fn shut(headers: &HeaderMap, at: &str, why: &str) -> Shut {
    let why = if token::of(headers).is_some() { why } else { "" };
    Box::new(login::ask(at, why))
}

/// Returns a page with status 200.
fn show(view: Page) -> Answer {
    page(StatusCode::OK, view)
}

/// Returns a page with the given HTTP status. The page is attached to an empty response, which [`filled`] renders once
/// the visitor is known.
fn page(status: StatusCode, view: Page) -> Answer {
    let mut answer = status.into_response();
    answer.extensions_mut().insert(view);
    answer
}

/// Renders the page attached to a response. If no page exists at the address, the browser gets an error page instead of
/// the JSON error.
async fn filled(State((shared, peer)): App, request: Request, next: Next) -> Answer {
    let path = request.uri().path().to_owned();
    let has_cookie = token::in_cookie(request.headers()).is_some();
    let mut answer = next.run(request).await;
    let route = answer.extensions().get::<Route>().cloned();
    let mut page = answer.extensions_mut().remove::<Page>();
    if page.is_none() && answer.status() == StatusCode::NOT_FOUND {
        answer = errors::missing("page", &path, "/", None);
        page = answer.extensions_mut().remove();
    }
    let Some(page) = page else { return answer };
    let account = account(&shared, &peer, has_cookie).await;
    let template = page.template();
    let visitor = visitor(&shared, account);
    let html = compute(&shared, &peer, move || page.render(visitor)).await;
    match html.and_then(|html| html.map_err(|error| not_rendered(template, &error))) {
        Ok(html) => {
            let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
            let mut made = (answer.status(), kind, html).into_response();
            harden(&mut made);
            route.map(|route| made.extensions_mut().insert(route));
            for name in [header::CACHE_CONTROL, header::RETRY_AFTER] {
                if let Some(value) = answer.headers_mut().remove(&name) {
                    made.headers_mut().insert(name, value);
                }
            }
            made
        }
        Err(failure) => *failure,
    }
}

/// Logs a failed rendering and returns the error response.
fn not_rendered(template: &str, error: &RenderError) -> Box<Answer> {
    tracing::error!(template, error = %format!("{error:#}"), "page rendering failed");
    let why = "page rendering failed; the server log has the cause\n";
    Box::new((StatusCode::INTERNAL_SERVER_ERROR, why).into_response())
}

/// Returns the kind of account link that the visitor's pages show.
async fn account(shared: &ServerState, peer: &Peer, has_cookie: bool) -> AccountLink {
    // A server that requires no token needs no login.
    let is_guest = || auth::admit(&shared.store, None, shared.welcomes_guests(peer), shared.epoch_ms());
    match has_cookie {
        true => AccountLink::Known,
        false if is_guest().await.is_ok() => AccountLink::Needless,
        false => AccountLink::Unknown,
    }
}

/// Returns the visitor for the links of a page.
fn visitor(shared: &ServerState, account: AccountLink) -> Visitor {
    Visitor { account, may_register: shared.registrar.is_some() }
}

/// Returns the address that agents connect to, by the address of the visitor's request. Behind a TLS proxy, only a form
/// has the scheme of that address, in its origin.
fn address(shared: &ServerState, headers: &HeaderMap) -> String {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or("127.0.0.1:7878");
    let is_secure = shared.config.tls.is_some() || text(header::ORIGIN).is_some_and(|o| o.starts_with("https://"));
    format!("{}://{host}", if is_secure { "wss" } else { "ws" })
}

/// Returns a document of a match in its current state, computed by `make` if it is not cached. `None` if the match does not
/// exist or is hidden until its season ends.
///
/// # Errors
///
/// Returns the errors of `make`.
pub(super) async fn cached(
    (shared, _): &(Arc<ServerState>, Peer),
    id: &str,
    kind: PageKind,
    make: impl Future<Output = Result<ResponseBody, Shut>>,
) -> Result<Option<ResponseBody>, Shut> {
    let Some(state) = shared.hub.match_state(id).await else { return Ok(None) };
    let key = PageKey { id: id.to_owned(), state, kind };
    shared.pages.get(key, |kind| shared.metrics.page(kind), make).await.map(Some)
}

/// Returns a response with a document and headers.
pub(super) fn send<const N: usize>(headers: [(HeaderName, &'static str); N], document: ResponseBody) -> Answer {
    let mut answer = (headers, document.bytes.clone()).into_response();
    answer.extensions_mut().insert(document);
    answer
}

/// Converts a value of the JSON API to the view that displays it. If it has another form, logs an error and returns an
/// empty view.
fn view<T: DeserializeOwned + Default>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_else(|error| {
        tracing::error!(%error, view = std::any::type_name::<T>(), "page data have an unexpected form");
        T::default()
    })
}

/// Adds the headers of pages to a response.
pub(super) fn harden(answer: &mut Answer) {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_requests_are_recognized() {
        let of = |accept: Option<&'static str>| {
            let headers = accept.map(|a| (header::ACCEPT, HeaderValue::from_static(a)));
            is_for_people(&headers.into_iter().collect())
        };
        assert!(of(Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")));
        assert!(of(Some("application/json;q=0.5, text/html;q=0.9")));
        assert!(!of(Some("*/*")) && !of(Some("application/json")) && !of(None) && !of(Some("text/htmlx")));
    }
}
