//! Read-only JSON endpoints.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Json};
use axum::routing::get;
use flate2::Compression;
use ludex_gym::quotas::Resource;
use ludex_protocol::message::ListMatches;
use ludex_protocol::{ErrorCode, Refusal};
use ludex_store::MatchFilter;
use serde::Deserialize;

use super::{Answer, access, cell, compute, failed, games, health, route, site};
use crate::auth::{Grant, Scopes};
use crate::page_cache::PageKind;
use crate::peer::Peer;
use crate::response_body::ResponseBody;
use crate::server_state::ServerState;
use ludex_arena::metrics;

type App = State<(Arc<ServerState>, Peer)>;

/// Returns the read-only routes. If the server requires tokens, so do all routes with data of agents. `/health` and
/// `/games` contain nothing confidential.
pub(super) fn routes(shared: Arc<ServerState>, peer: Peer) -> Router {
    Router::new()
        .route(
            "/",
            get(|| async { plain(StatusCode::OK, "ludex: the protocol is spoken over a WebSocket here and at /ws\n") }),
        )
        .route(
            "/ws",
            get(|| async { plain(StatusCode::UPGRADE_REQUIRED, "the protocol is spoken over a WebSocket here\n") }),
        )
        .route("/health", get(health::health))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics_page))
        .route("/games", get(list_games))
        .route("/matches", get(matches))
        .route("/ratings", get(ratings))
        .route("/episodes/{id}", get(episode))
        .route("/ladders", get(ladders))
        .route("/ladders/{ladder}", get(ladder))
        .route("/ladders/{ladder}/{season}", get(season))
        .route("/ladders/{ladder}/{season}/records.jsonl", get(season_records))
        .route("/runs", get(runs))
        .route("/runs/{run}", get(run))
        .route("/runs/{run}/{file}", get(run_file))
        .merge(site::parts(shared.registrar.is_some()))
        .fallback(|| async {
            failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadMessage, "expected the path of an endpoint"))
        })
        .with_state((shared.clone(), peer.clone()))
        .layer(from_fn_with_state((shared, peer), cell::redirect_runs))
        .layer(map_response(for_programs))
        .layer(from_fn(route::attach))
}

/// Adds headers to JSON responses. At most of these addresses, browsers get a page instead, so caches must distinguish
/// pages from JSON.
async fn for_programs(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
        headers.entry(header::VARY).or_insert(HeaderValue::from_static(site::VARY));
        headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    }
    answer
}

/// Returns the permissions of the request's token, or the response that rejects it.
async fn granted(app: &(Arc<ServerState>, Peer), headers: &HeaderMap) -> Result<Grant, Box<Answer>> {
    access::grant(app, headers).await.map_err(|e| {
        let error = Refusal::new(ErrorCode::Unauthorized, e.to_string());
        Box::new(failed(StatusCode::UNAUTHORIZED, error))
    })
}

async fn metrics_page(State(app): App, headers: HeaderMap) -> Answer {
    let grant = match granted(&app, &headers).await {
        Ok(grant) => grant,
        Err(refusal) => return *refusal,
    };
    // Only a guest has no owner. Guests exist only on a server that requires no token, and need no scope.
    if grant.owner.is_some() && !grant.may(Scopes::METRICS) {
        let error = Refusal::new(ErrorCode::Forbidden, "expected a token with the scope metrics or admin");
        return failed(StatusCode::FORBIDDEN, error);
    }
    let cells = app.0.cells.all();
    let sum = |count: fn(&ludex_arena::matches::Hub) -> f64| cells.values().map(|state| count(&state.hub)).sum::<f64>();
    app.0.metrics.live.set(sum(|hub| hub.sessions.count().0 as f64));
    app.0.metrics.parked.set(sum(|hub| hub.sessions.count().1 as f64));
    app.0.metrics.matches.set(sum(|hub| hub.live_matches() as f64));
    app.0.metrics.waiting.set(sum(|hub| hub.waiting() as f64));
    app.0.metrics.envs.set(sum(|hub| f64::from(hub.sessions.owners.used(Resource::Envs))));
    app.0.metrics.queued.set(app.0.hub.compute.queued() as f64);
    app.0.metrics.lag.set(app.0.workers.take_lag().as_secs_f64());
    let mut page = app.0.metrics.render();
    if grant.may(Scopes::ADMIN) {
        let accounts: Vec<_> = cells.values().flat_map(|state| state.hub.sessions.owners.all()).collect();
        page.push_str(&metrics::owners(&accounts));
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}

async fn list_games(State((shared, _)): App) -> Answer {
    Json(serde_json::json!({ "games": shared.catalogue.entries() })).into_response()
}

#[derive(Deserialize)]
struct MatchQuery {
    game: Option<String>,
    agent: Option<String>,
    run: Option<String>,
    rated: Option<bool>,
    #[serde(default)]
    live: Live,
    before: Option<u64>,
    limit: Option<u32>,
}

/// Filter for the state of listed matches: running, ended, or both.
#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Live {
    #[default]
    True,
    False,
    All,
}

type QueryOf<T> = Result<Query<T>, QueryRejection>;

fn misunderstood(e: &QueryRejection) -> Answer {
    failed(StatusCode::BAD_REQUEST, Refusal::new(ErrorCode::BadField, e.body_text()))
}

async fn matches(State(app): App, headers: HeaderMap, query: QueryOf<MatchQuery>) -> Answer {
    let grant = match granted(&app, &headers).await {
        Ok(grant) => grant,
        Err(refusal) => return *refusal,
    };
    let Query(query) = match query {
        Ok(query) => query,
        Err(e) => return misunderstood(&e),
    };
    let filter = MatchFilter {
        game: query.game,
        agent: query.agent,
        // A list of a run's matches tells more about their seeds than players may know before the release.
        released: query.run.is_some() && !grant.may(Scopes::ADMIN),
        run: query.run,
        rated: query.rated,
        live: match query.live {
            Live::True => Some(true),
            Live::False => Some(false),
            Live::All => None,
        },
        before: query.before,
    };
    let limit = query.limit.unwrap_or(ListMatches::default().limit);
    match app.0.hub.page_of_matches(&filter, limit, &app.1.job_owner()).await {
        Ok(page) => Json(page).into_response(),
        Err(error) => {
            tracing::error!("match listing failed: {error:#}");
            let error = Refusal::new(ErrorCode::Internal, "listing the matches failed; see the server log");
            failed(StatusCode::INTERNAL_SERVER_ERROR, error)
        }
    }
}

async fn runs(State(app): App, headers: HeaderMap) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    Json(serde_json::json!({ "suites": app.0.runs.offered(), "runs": app.0.runs.open_runs() })).into_response()
}

async fn run(State(app): App, headers: HeaderMap, path: Result<Path<String>, PathRejection>) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let told = match path {
        Ok(Path(run)) => app.0.runs.run(&run).await,
        Err(_) => None,
    };
    told.map_or_else(no_run, |page| Json(page).into_response())
}

/// Returns a report file of a finished run.
async fn run_file(State(app): App, headers: HeaderMap, path: Result<Path<(String, String)>, PathRejection>) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let Ok(Path((run, file))) = path else { return no_run() };
    let Some((kind, bytes)) = app.0.runs.run_file(&run, &file).await else { return no_run() };
    let mut answer = ([(header::CONTENT_TYPE, kind)], bytes).into_response();
    site::harden(&mut answer);
    answer
}

fn no_run() -> Answer {
    failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::UnknownRun, "expected the name of a finished run"))
}

#[derive(Deserialize)]
struct LadderQuery {
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

/// Default number of rows per page of a ladder's table.
const LINES: usize = 100;

fn no_ladder() -> Answer {
    failed(StatusCode::NOT_FOUND, Refusal::new(ErrorCode::BadField, "expected the name of a ladder and a season"))
}

async fn ladders(State(app): App, headers: HeaderMap) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    Json(serde_json::json!({ "ladders": app.0.hub.ladders() })).into_response()
}

async fn ladder(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<String>, PathRejection>,
    query: QueryOf<LadderQuery>,
) -> Answer {
    match path {
        Ok(Path(ladder)) => table(&app, &headers, &ladder, None, query).await,
        Err(_) => no_ladder(),
    }
}

async fn season(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<(String, String)>, PathRejection>,
    query: QueryOf<LadderQuery>,
) -> Answer {
    match path {
        Ok(Path((ladder, season))) => table(&app, &headers, &ladder, Some(&season), query).await,
        Err(_) => no_ladder(),
    }
}

async fn table(
    app: &(Arc<ServerState>, Peer),
    headers: &HeaderMap,
    ladder: &str,
    season: Option<&str>,
    query: QueryOf<LadderQuery>,
) -> Answer {
    if let Err(refusal) = granted(app, headers).await {
        return *refusal;
    }
    let Query(query) = match query {
        Ok(query) => query,
        Err(e) => return misunderstood(&e),
    };
    let range = [query.offset, query.limit.unwrap_or(LINES)];
    let page = app.0.hub.ladder_page(ladder, season, range, &app.1.job_owner()).await;
    page.map_or_else(no_ladder, |page| Json(page).into_response())
}

/// Returns the records of a finished season.
async fn season_records(
    State(app): App,
    headers: HeaderMap,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let Ok(Path((ladder, season))) = path else { return no_ladder() };
    let Some(chunks) = app.0.hub.ladder_records(&ladder, &season).await else { return no_ladder() };
    let mut answer = ([(header::CONTENT_TYPE, "application/jsonl")], Body::from_stream(chunks)).into_response();
    site::harden(&mut answer);
    answer
}

#[derive(Deserialize)]
struct RatingQuery {
    game: Option<String>,
}

async fn ratings(State(app): App, headers: HeaderMap, query: QueryOf<RatingQuery>) -> Answer {
    if let Err(refusal) = granted(&app, &headers).await {
        return *refusal;
    }
    let Query(query) = match query {
        Ok(query) => query,
        Err(e) => return misunderstood(&e),
    };
    if let Some(game) = &query.game
        && let Err(refusal) = games::game_of(game, &app.1, &app.0).await
    {
        return failed(games::status_of(&refusal), *refusal);
    }
    match app.0.ratings.of(&app.0.store, query.game.as_deref()).await {
        Ok(made) => {
            let written = compute(&app.0, &app.1, move || Json(&made.page).into_response()).await;
            written.unwrap_or_else(|failure| *failure)
        }
        Err(error) => {
            tracing::error!("ratings computation failed: {error:#}");
            let error = Refusal::new(ErrorCode::Internal, "computing the ratings failed; see the server log");
            failed(StatusCode::INTERNAL_SERVER_ERROR, error)
        }
    }
}

async fn episode(State(app): App, headers: HeaderMap, id: Result<Path<String>, PathRejection>) -> Answer {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    if let Err(refusal) = access::to_match(&app, &headers, &id).await {
        return access::denied(*refusal);
    }
    // Before the release, a response contains only what a public spectator sees; afterwards, the complete record.
    let write = async {
        let written = app.0.hub.episode(&id, &app.1.job_owner()).await.ok_or_else(no_episode)?;
        compute(&app.0, &app.1, || ResponseBody::new(written, Some(Compression::fast()))).await
    };
    match site::cached(&app, &id, PageKind::Episode, write).await {
        Ok(Some(document)) => site::send([(header::CONTENT_TYPE, "application/json")], document),
        Ok(None) => *no_episode(),
        Err(failure) => *failure,
    }
}

fn no_episode() -> Box<Answer> {
    let error = Refusal::new(ErrorCode::UnknownMatch, "expected the id of a match");
    Box::new(failed(StatusCode::NOT_FOUND, error))
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    (status, text).into_response()
}
