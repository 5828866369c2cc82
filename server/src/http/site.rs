//! Pages for people, made of the templates in `web/templates`. Programs get JSON at the same addresses: a page is the answer
//! to a request that says `Accept: text/html`.

mod agent;
mod assets;
mod curve;
mod errors;
mod game;
mod home;
mod ladders;
mod login;
mod matches;
mod play;
mod runs;
mod svg;
mod templates;
mod text;
mod words;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::Value;

use super::{Answer, token};
use crate::auth::{self, Grant};
use crate::peer::Peer;
use crate::ratings::Made;
use crate::shared::Shared;

type App = State<(Arc<Shared>, Peer)>;

/// What a browser may do with a page: everything comes from this server, and no script stands in a page. Pictures bring
/// their own style sheets.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every page.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::VARY, "accept, cookie"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Whether the asker is a person's browser.
pub(super) fn is_for_people(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/html")
}

/// The pages. What they do not have is answered by `programs`.
pub(super) fn routes(shared: Arc<Shared>, peer: Peer, programs: Router) -> Router {
    Router::new()
        .route("/", get(home::page))
        .route("/games", get(home::page))
        .route("/games/{id}", get(game::page))
        .route("/matches", get(matches::list))
        .route("/matches/{id}", get(matches::page))
        .route("/agents/{name}", get(agent::page))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::page))
        .route("/runs/{run}/play", get(runs::play))
        .route("/ladders", get(ladders::list))
        .route("/ladders/{ladder}", get(ladders::page))
        .route("/play/{id}", get(play::page))
        .route("/login", get(login::page))
        .with_state((shared, peer))
        .fallback_service(programs)
}

/// What pages load, and what they ask for without saying `text/html`.
pub(super) fn parts() -> Router<(Arc<Shared>, Peer)> {
    Router::new()
        .route("/static/{file}", get(assets::file))
        .route("/games/{id}/picture.svg", get(game::picture))
        .route("/matches/{id}/picture.svg", get(matches::picture))
        .route("/matches/{id}/notation", get(matches::notation))
        .route("/login", post(login::enter))
        .route("/logout", post(login::leave))
}

/// The answer to somebody who may not see a page: where to go.
type Shut = Box<Answer>;

/// Who asks, or the way to the page where a token is typed.
async fn admitted((shared, peer): &(Arc<Shared>, Peer), headers: &HeaderMap, at: &str) -> Result<Grant, Shut> {
    let token = token::of(headers);
    match auth::admit(&shared.store, token.as_deref(), peer.guests_welcome(), shared.epoch_ms()).await {
        Ok(grant) => Ok(grant),
        Err(error) => {
            let why = if token.is_some() { error.to_string() } else { String::new() };
            Err(Box::new(login::ask(at, &why)))
        }
    }
}

/// How long a page waits for ratings.
const PATIENCE: Duration = Duration::from_millis(400);
/// The same where [`MANY`] records are released: to rate them all takes longer than anybody wants to wait.
const PATIENCE_OF_MANY: Duration = Duration::from_millis(10);
const MANY: u64 = 1_000;

/// The scales of a game, or of all, if they are made soon enough; else those that were made last, while new ones are made for the
/// next who asks.
async fn scales(shared: &Arc<Shared>, game: Option<&str>) -> Option<Arc<Made>> {
    let many = shared.store.last_release().await.is_ok_and(|records| records >= MANY);
    let (maker, of) = (shared.clone(), game.map(str::to_owned));
    let made = tokio::spawn(async move { maker.ratings.of(&maker.store, of.as_deref()).await });
    match tokio::time::timeout(if many { PATIENCE_OF_MANY } else { PATIENCE }, made).await {
        Ok(made) => made.ok()?.inspect_err(|error| tracing::error!("ratings: {error:#}")).ok(),
        Err(_) => shared.ratings.last(game),
    }
}

/// A page with the status 200. `context` is what its template needs.
fn show(template: &str, headers: &HeaderMap, context: Value) -> Answer {
    page(StatusCode::OK, template, token::in_cookie(headers).is_some(), context)
}

/// A page.
fn page(status: StatusCode, template: &str, has_cookie: bool, context: Value) -> Answer {
    match templates::render(template, has_cookie, context) {
        Ok(html) => {
            let mut answer = (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
            harden(&mut answer);
            answer
        }
        Err(error) => {
            tracing::error!(template, error = %format!("{error:#}"), "a page could not be made");
            (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made; the log says why\n").into_response()
        }
    }
}

fn harden(answer: &mut Answer) {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_told_from_programs() {
        let of = |accept: Option<&'static str>| {
            let headers = accept.map(|a| (header::ACCEPT, HeaderValue::from_static(a)));
            is_for_people(&headers.into_iter().collect())
        };
        assert!(of(Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")));
        assert!(of(Some("application/json;q=0.5, text/html;q=0.9")));
        assert!(!of(Some("*/*")) && !of(Some("application/json")) && !of(None) && !of(Some("text/htmlx")));
    }
}
