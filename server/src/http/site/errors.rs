//! Pages that say what is missing, and where to look.

use axum::http::StatusCode;
use ludex_protocol::{ErrorCode, Refusal};
use serde_json::json;

use super::super::failed;
use super::{Answer, page, text};

/// For a program.
pub(super) fn no_page() -> Answer {
    failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadMessage, "unknown page"))
}

/// For a person: what was looked for, and a word about it. `list` is where there are others.
pub(super) fn missing(what: &str, id: &str, list: &str, nearest: Option<&str>) -> Answer {
    let id = text::clean(id, text::NAME);
    page(StatusCode::NOT_FOUND, "error.html", json!({ "what": what, "id": id, "list": list, "nearest": nearest }))
}

/// For a person: a match that is shown when its season is over.
pub(super) fn hidden(id: &str) -> Answer {
    let id = text::clean(id, text::NAME);
    page(StatusCode::NOT_FOUND, "error.html", json!({ "hidden": true, "id": id, "list": "/matches" }))
}

/// For a person: the server failed.
pub(super) fn failure() -> Answer {
    page(StatusCode::INTERNAL_SERVER_ERROR, "error.html", json!({ "failed": true }))
}
