//! Page on which a person plays a run, and the consent that may precede it.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::IntoResponse;
use ludex_arena::invited_run::InvitedRun;
use ludex_pages::run::{ConsentPage, RunPlayPage};
use ludex_pages::{Page, text};
use ludex_referee::suite::is_word;
use serde::Deserialize;
use serde_json::json;

use super::form::entered;
use super::{Answer, App, admitted, compute, errors, show};
use crate::auth::Grant;

/// Settings of a new run.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Enter {
    suite: String,
    /// Parts of the suite, separated by commas; empty: all parts.
    only: String,
    scale: String,
}

impl Enter {
    fn invited(invited: &InvitedRun) -> Enter {
        Enter { suite: invited.suite.clone(), only: invited.only.join(","), scale: invited.scale.to_string() }
    }

    /// Returns the address of a page of the run with these settings.
    fn address(&self, run: &str, page: &str) -> String {
        let [run, suite, only, scale] = [run, &self.suite, &self.only, &self.scale].map(text::path);
        format!("/runs/{run}/{page}?suite={suite}&only={only}&scale={scale}")
    }
}

#[derive(Deserialize)]
struct Consent {
    /// Hash of the accepted text.
    #[serde(default)]
    sha256: String,
}

/// Returns the page on which a person plays a run. Its script enrolls over the protocol, like any other client. Before
/// the acceptance of the consent text, a person gets that text instead.
pub(super) async fn page(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    Query(enter): Query<Enter>,
) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let grant = match admitted(&app, &headers, &enter.address(&run, "play")).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let enter = match settings(&grant, &run, enter) {
        Ok(enter) => enter,
        Err(elsewhere) => return *elsewhere,
    };
    let runs = &app.0.runs;
    match runs.run(&run).await {
        Some(about) if about["state"] == "open" => {}
        Some(_) => return see(&format!("/runs/{}", text::path(&run))),
        None if enter.suite.is_empty() || !is_word(&run) => return errors::missing("run", &run, "/runs", None),
        None if app.0.config.suites.get(&enter.suite).is_none() => {
            return errors::missing("suite", &enter.suite, "/runs", None);
        }
        None => {}
    }
    let limits_s = runs.move_limits(&run, &enter.suite, &enter.only);
    if let Some(consent) = runs.missing_consent(&run, grant.owner.as_deref()) {
        let (markdown, sha256) = (consent.text.clone(), consent.sha256.clone());
        let text = match compute(&app.0, &app.1, move || text::document(&markdown)).await {
            Ok(text) => text,
            Err(failure) => return *failure,
        };
        let to = enter.address(&run, "consent");
        return show(Page::Consent(ConsentPage { run, suite: enter.suite, text, sha256, to, limits_s }));
    }
    let scale = enter.scale.parse::<f64>().ok().filter(|scale| *scale != 1.0);
    let seats = json!(runs.seats_of(&run, &enter.suite, &enter.only)).to_string();
    let (agent, prefix) = (grant.default_name().map(str::to_owned), grant.prefix().to_owned());
    let (suite, only) = (enter.suite, enter.only);
    show(Page::RunPlay(RunPlayPage { run, suite, only, scale, seats, agent, prefix, limits_s }))
}

/// Accepts the consent text for the visitor, who may then enroll in the run.
pub(super) async fn consent(
    State(app): App,
    path: Result<Path<String>, PathRejection>,
    Query(enter): Query<Enter>,
    request: Request,
) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let (headers, Consent { sha256 }) = match entered::<Consent>(request, &app.1, &app.0).await {
        Ok(entered) => entered,
        Err(refusal) => return *refusal,
    };
    let grant = match admitted(&app, &headers, &enter.address(&run, "play")).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let enter = match settings(&grant, &run, enter) {
        Ok(enter) => enter,
        Err(elsewhere) => return *elsewhere,
    };
    if is_word(&run) {
        app.0.runs.accept_consent(&run, grant.owner.as_deref(), &sha256);
    }
    see(&enter.address(&run, "play"))
}

/// Returns the settings of the run: those of an invitation, else those of the address.
///
/// # Errors
///
/// The redirection to the run of the invitation.
fn settings(grant: &Grant, run: &str, enter: Enter) -> Result<Enter, Box<Answer>> {
    match grant.invited.as_deref() {
        Some(invited) if invited.run == run => Ok(Enter::invited(invited)),
        Some(invited) => Err(Box::new(see(&format!("/runs/{}/play", text::path(&invited.run))))),
        None => Ok(enter),
    }
}

fn see(to: &str) -> Answer {
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
}
