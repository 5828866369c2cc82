//! Error pages with links to related pages.

use axum::http::StatusCode;
use ludex_protocol::{ErrorCode, Refusal};
use serde_json::json;

use super::super::failed;
use super::{Answer, games, page, text};

/// Returns the JSON response for an unknown page.
pub(super) fn no_page() -> Answer {
    failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadMessage, "unknown page"))
}

/// Returns the error page for a missing item: the kind of item (`what`), its name, and the nearest existing name.
/// `list` is the address of the page that lists all items of this kind.
pub(super) fn missing(what: &str, id: &str, list: &str, nearest: Option<&str>) -> Answer {
    let id = text::clean(id, text::NAME);
    page(StatusCode::NOT_FOUND, "error.html", json!({ "what": what, "id": id, "list": list, "nearest": nearest }))
}

/// Returns the error page for an address with an unknown game or invalid parameters. The page suggests the game with
/// the nearest name, or states why the parameters are invalid.
pub(super) fn game(id: &str, refusal: &Refusal) -> Answer {
    match games::status_of(refusal) {
        StatusCode::NOT_FOUND => missing("game", id, "/games", refusal.nearest.as_deref()),
        StatusCode::INTERNAL_SERVER_ERROR => failure(),
        status => page(status, "error.html", json!({ "refused": true, "why": refusal.message })),
    }
}

/// Returns the error page for a match that is hidden until its season ends.
pub(super) fn hidden(id: &str) -> Answer {
    let id = text::clean(id, text::NAME);
    page(StatusCode::NOT_FOUND, "error.html", json!({ "hidden": true, "id": id, "list": "/matches" }))
}

/// Returns the error page for a match of an open run. Only owners with agents in the run may see the match until the
/// run ends.
pub(super) fn of_open_run(id: &str) -> Answer {
    let id = text::clean(id, text::NAME);
    page(StatusCode::FORBIDDEN, "error.html", json!({ "of_run": true, "id": id, "list": "/matches" }))
}

/// Returns the page for an internal error.
pub(super) fn failure() -> Answer {
    page(StatusCode::INTERNAL_SERVER_ERROR, "error.html", json!({ "failed": true }))
}
