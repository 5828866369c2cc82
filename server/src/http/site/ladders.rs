//! The list of standing ladders, and the table of one ladder.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, App, admitted, errors, matches, show, text};

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
    let mut ladders = app.0.hub.ladders();
    for ladder in &mut ladders {
        ladder["title"] = app.0.catalogue.called(ladder["game"].as_str().unwrap_or_default()).into();
    }
    show("ladders.html", json!({ "ladders": ladders }))
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
    let Some(mut table) = app.0.hub.ladder_page(&name, None, [offset, LINES], &app.1.job_owner()).await else {
        return errors::missing("ladder", &name, "/ladders", None);
    };
    table["live"] = matches::match_lines(&app.0, &table["live"]).into();
    table["title"] = app.0.catalogue.called(table["game"].as_str().unwrap_or_default()).into();
    show("ladder.html", json!({ "name": name, "table": table, "offset": offset, "lines": LINES }))
}
