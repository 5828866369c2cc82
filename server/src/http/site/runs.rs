//! Runs: their list, and one with its progress, its verdict and its matches.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::HeaderMap;
use serde_json::json;

use super::{Answer, App, admitted, errors, matches, show, text};
use crate::auth::Scopes;
use crate::store::MatchFilter;

/// Matches that are listed.
const LISTED: u32 = 100;

pub(super) async fn list(State(app): App, headers: HeaderMap) -> Answer {
    if let Err(shut) = admitted(&app, &headers, "/runs").await {
        return *shut;
    }
    show("runs.html", &headers, json!({ "suites": app.0.config.suites.entries(), "runs": app.0.hub.open_runs() }))
}

pub(super) async fn page(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let grant = match admitted(&app, &headers, &format!("/runs/{}", text::path(&run))).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let Some(about) = app.0.hub.run(&run).await else { return errors::missing("run", &run, "/runs", None) };
    // As in the list for programs: who knows which matches belong together knows more of a seed than its players do.
    let released = !grant.may(Scopes::ADMIN);
    let filter = MatchFilter { run: Some(run.clone()), released, ..MatchFilter::default() };
    let (matches, next) = matches::lines(&app.0, &filter, LISTED).await;
    show("run.html", &headers, json!({ "run": run, "about": about, "matches": matches, "more": next.is_some() }))
}
