//! Error pages with links to related pages.

use axum::http::StatusCode;
use ludex_pages::error::ErrorPage;
use ludex_pages::{Page, text};
use ludex_protocol::{ErrorCode, Refusal};

use super::super::failed;
use super::{Answer, games, page};

/// Returns the JSON response for a form that a page of another server sent.
pub(super) fn foreign() -> Answer {
    let why = "expected a request from a page of this server";
    failed(StatusCode::FORBIDDEN, Refusal::new(ErrorCode::Forbidden, why))
}

/// Returns the JSON response for an unknown page.
pub(super) fn no_page() -> Answer {
    failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadMessage, "unknown page"))
}

/// Returns the error page for a missing item: the kind of item (`what`), its name, and the nearest existing name.
/// `list` is the address of the page that lists all items of this kind.
pub(super) fn missing(what: &str, id: &str, list: &str, nearest: Option<&str>) -> Answer {
    let (id, nearest) = (text::clean(id, text::NAME), nearest.map(str::to_owned));
    error(StatusCode::NOT_FOUND, ErrorPage::Missing { what: what.to_owned(), id, list: list.to_owned(), nearest })
}

/// Returns the error page for an address with an unknown game or invalid parameters. The page suggests the game with
/// the nearest name, or states why the parameters are invalid.
pub(super) fn game(id: &str, refusal: &Refusal) -> Answer {
    match games::status_of(refusal) {
        StatusCode::NOT_FOUND => missing("game", id, "/games", refusal.nearest.as_deref()),
        StatusCode::INTERNAL_SERVER_ERROR => failure(),
        status => error(status, ErrorPage::Refused { why: refusal.message.clone() }),
    }
}

/// Returns the error page for a match that is hidden until its season ends.
pub(super) fn hidden(id: &str) -> Answer {
    error(StatusCode::NOT_FOUND, ErrorPage::InSeason { id: text::clean(id, text::NAME) })
}

/// Returns the error page for a match of an open run. Only owners with agents in the run may see the match until the
/// run ends.
pub(super) fn of_open_run(id: &str) -> Answer {
    error(StatusCode::FORBIDDEN, ErrorPage::InOpenRun { id: text::clean(id, text::NAME) })
}

/// Returns the page for an internal error.
pub(super) fn failure() -> Answer {
    error(StatusCode::INTERNAL_SERVER_ERROR, ErrorPage::Failed)
}

fn error(status: StatusCode, view: ErrorPage) -> Answer {
    page(status, Page::Error(view))
}
