//! Run pages: the list of runs, and the page of one run.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap};
use axum::response::IntoResponse;
use ludex_pages::run::{RunPage, RunView, Verdict, format_text, state_text};
use ludex_pages::runs::{RunLine, RunListPage, SeasonName, SuiteOption};
use ludex_pages::{Page, text};
use ludex_protocol::message::SuiteEntry;
use ludex_store::MatchFilter;
use serde::Deserialize;
use serde_json::Value;

use super::{Answer, App, admitted, errors, matches, show, view};
use crate::auth::Scopes;
use crate::server_state::ServerState;

/// Number of matches per page.
const LISTED: u32 = 50;
/// Number of finished runs per page.
const OVER: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RunListQuery {
    /// Name of the last run on the previous page.
    after: String,
    /// Season whose runs are listed, as `SUITE/SEASON`.
    season: String,
    /// Name of the run that a person wants to start; empty to list runs. For a new run, `suite` names its suite
    /// (`suite` or `suite/part`), and `scale` is the fraction of the suite's matches to play.
    play: String,
    suite: String,
    scale: String,
}

pub(super) async fn list(State(app): App, headers: HeaderMap, query: Query<RunListQuery>) -> Answer {
    if let Err(shut) = admitted(&app, &headers, "/runs").await {
        return *shut;
    }
    let Query(listed) = query;
    if !listed.play.is_empty() {
        let (suite, only) = listed.suite.split_once('/').unwrap_or((&listed.suite, ""));
        let [run, suite, only, scale] = [listed.play.as_str(), suite, only, &listed.scale].map(text::path);
        let to = format!("/runs/{run}/play?suite={suite}&only={only}&scale={scale}");
        return (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    }
    let season = listed.season.split_once('/').map(<[&str; 2]>::from);
    let (over, next) = app.0.runs.runs_over(&listed.after, season, OVER).await;
    let mut runs = app.0.runs.open_runs();
    if let Some([suite, name]) = season {
        runs.retain(|run| run["suite"] == suite && run["season"]["name"] == name);
    }
    let lines = |runs: Vec<Value>| runs.into_iter().map(|run| run_line(&app.0, run)).collect();
    show(Page::RunList(RunListPage {
        runs: lines(runs),
        over: lines(over),
        next,
        season: season.map(|[suite, name]| SeasonName { suite: suite.to_owned(), name: name.to_owned() }),
        seasons: view(app.0.runs.seasons().into()),
        suites: alone(&app.0),
    }))
}

fn run_line(shared: &ServerState, run: Value) -> RunLine {
    let line: RunLine = view(run);
    RunLine { state_text: state_text(&line.state), title: shared.catalogue.called(&line.game), ..line }
}

/// Returns the suites, or parts of suites, that one person can play alone, smallest suite first.
fn alone(shared: &ServerState) -> Vec<SuiteOption> {
    let mut suites = shared.runs.offered();
    suites.sort_by_key(|suite| suite.matches);
    let told = |suite: SuiteEntry| {
        let alone = &shared.config.suites.get(&suite.suite)?.alone;
        (!alone.parts.is_empty()).then(|| SuiteOption {
            suite: suite.suite,
            title: suite.title,
            matches: suite.matches,
            season: suite.season,
            whole: alone.whole,
            parts: alone.parts.clone(),
        })
    };
    suites.into_iter().filter_map(told).collect()
}

#[derive(Default, Deserialize)]
pub(super) struct Older {
    before: Option<u64>,
}

pub(super) async fn page(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    older: Query<Older>,
) -> Answer {
    let run = path.map(|Path(run)| run).unwrap_or_default();
    let grant = match admitted(&app, &headers, &format!("/runs/{}", text::path(&run))).await {
        Ok(grant) => grant,
        Err(shut) => return *shut,
    };
    let Some(found) = app.0.runs.run(&run).await else { return errors::missing("run", &run, "/runs", None) };
    // As in the JSON API: a list of a run's matches tells more about seeds than players may know before the release.
    let released = !grant.may(Scopes::ADMIN);
    let filter = MatchFilter { run: Some(run.clone()), released, before: older.before, ..MatchFilter::default() };
    let (matches, next) = matches::lines(&app, &filter, LISTED).await;
    let about: RunView = view(found);
    let none = Verdict::default();
    let verdict = about.verdict.as_ref().unwrap_or(&none);
    show(Page::Run(Box::new(RunPage {
        title: app.0.catalogue.called(about.game.as_deref().unwrap_or_default()),
        format: about.format.map(format_text),
        state: state_text(&about.state),
        own: grant.owner.as_deref().is_some_and(|owner| app.0.runs.has_entrant_of(&run, owner)),
        overall: verdict.overall(),
        figures: verdict.figures(),
        run,
        matches,
        next,
        about,
    })))
}
