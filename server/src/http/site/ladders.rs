//! The list of standing ladders, and the table of one ladder.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::HeaderMap;
use ludex_pages::ladders::{LadderLine, LadderListPage, LadderPage, LadderTable};
use ludex_pages::{Page, text};
use serde::Deserialize;
use serde_json::Value;

use super::{Answer, App, admitted, errors, matches, show, view};

/// Number of table rows per page.
const LINES: usize = 100;

#[derive(Default, Deserialize)]
pub(super) struct LadderPageQuery {
    #[serde(default)]
    offset: usize,
}

pub(super) async fn list(State(app): App, headers: HeaderMap) -> Answer {
    if let Err(shut) = admitted(&app, &headers, "/ladders").await {
        return *shut;
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |ladder: &Value| LadderLine {
        ladder: word(&ladder["ladder"]),
        title: app.0.catalogue.called(&word(&ladder["game"])),
    };
    show(Page::LadderList(LadderListPage { ladders: app.0.hub.ladders().iter().map(line).collect() }))
}

pub(super) async fn page(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    from: Query<LadderPageQuery>,
) -> Answer {
    let name = path.map(|Path(name)| name).unwrap_or_default();
    if let Err(shut) = admitted(&app, &headers, &format!("/ladders/{}", text::path(&name))).await {
        return *shut;
    }
    let Query(LadderPageQuery { offset }) = from;
    let Some(found) = app.0.hub.ladder_page(&name, None, [offset, LINES], &app.1.job_owner()).await else {
        return errors::missing("ladder", &name, "/ladders", None);
    };
    let live = matches::match_lines(&app.0, &found["live"]);
    let title = app.0.catalogue.called(found["game"].as_str().unwrap_or_default());
    let table = LadderTable { live, title, ..view(found) };
    show(Page::Ladder(LadderPage { name, table }))
}
