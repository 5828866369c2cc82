//! OpenEnv: environments for the training of language models, over HTTP and WebSockets in JSON.
//!
//! A session on the WebSocket `/ws` plays episodes. As on OpenEnv's own servers, each HTTP request has a session of its
//! own, so `/reset` and `/step` over HTTP are probes.

mod arguments;
mod documents;
mod environment;
mod episode;
mod failure;
mod messages;
mod reward;
mod rpc;
mod socket;
mod tasks;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use ludex_client::LocalConnector;
use ludex_client::protocol::spec::Params;
use serde_json::{Value, json};

use self::arguments::{Arguments, answer};
use self::environment::Environment;
use self::failure::RequestFailure;
use crate::access::connect;
use crate::websocket::Upgrade;

/// First segment of the paths.
pub const PREFIX: &str = "/openenv";

/// Maximum size of a request body and of a message on a WebSocket in bytes.
pub const BODY_BYTES: u64 = 512 << 10;

type Reply = Result<Json<Value>, RequestFailure>;

/// Returns the routes for one HTTP connection.
pub fn routes(connector: LocalConnector) -> Router {
    Router::new()
        .route("/openenv/{game}/ws", get(ws))
        .route("/openenv/{game}/health", get(health))
        .route("/openenv/{game}/metadata", get(metadata))
        .route("/openenv/{game}/schema", get(async || Json(documents::schemas())))
        .route("/openenv/{game}/openapi.json", get(async || Json(documents::openapi())))
        .route("/openenv/{game}/state", get(state))
        .route("/openenv/{game}/reset", post(reset))
        .route("/openenv/{game}/step", post(step))
        .route("/openenv/{game}/mcp", post(async |body: Bytes| Json(rpc::respond_to_text(&body))))
        .route("/openenv/{game}/list_environments", get(list_environments))
        .route("/openenv/{game}/{env}/splits", get(list_splits))
        .route("/openenv/{game}/{env}/{route}", post(list_tasks))
        .with_state(connector)
}

/// Opens a session on a WebSocket.
async fn ws(
    State(connector): State<LocalConnector>,
    Path(game): Path<String>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    upgrade.accept(BODY_BYTES as usize, |socket| socket::serve(socket, connector, game, headers))
}

/// Replies that the server is healthy if it offers the game and admits the client.
async fn health(State(connector): State<LocalConnector>, Path(game): Path<String>, headers: HeaderMap) -> Reply {
    Environment::connect(&connector, &headers, &game).await?;
    Ok(Json(json!({ "status": "healthy" })))
}

/// Describes the game, with its rules page.
async fn metadata(State(connector): State<LocalConnector>, Path(game): Path<String>, headers: HeaderMap) -> Reply {
    let (client, _events) = connect(&connector, &headers, "openenv").await?;
    let spec = client.describe(&game, Params::new(), true).await?;
    Ok(Json(json!({
        "name": spec.game,
        "description": format!("{}, {} seats: {}", spec.title, spec.players, spec.string),
        "readme_content": spec.text,
        "version": spec.rules.to_string(),
        "author": null,
        "documentation_url": null,
    })))
}

/// Returns the state of a session without an episode.
async fn state(State(connector): State<LocalConnector>, Path(game): Path<String>, headers: HeaderMap) -> Reply {
    let (environment, _events) = Environment::connect(&connector, &headers, &game).await?;
    Ok(Json(environment.state()))
}

/// Starts an episode in a session of its own.
async fn reset(
    State(connector): State<LocalConnector>,
    Path(game): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Reply {
    let arguments = Arguments::read(object(&body)?)?;
    let (mut environment, _events) = Environment::connect(&connector, &headers, &game).await?;
    Ok(Json(json!(environment.reset(arguments).await?)))
}

/// Starts an episode in a session of its own, with the arguments beside the action, and plays the action.
async fn step(
    State(connector): State<LocalConnector>,
    Path(game): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Reply {
    let mut request = object(&body)?;
    let answer = match request.remove("action") {
        Some(Value::Object(action)) => answer(action)?,
        other => return Err(RequestFailure::field("action", "an object", other.as_ref())),
    };
    for of_the_request in ["timeout_s", "request_id"] {
        request.remove(of_the_request);
    }
    let arguments = Arguments::read(request)?;
    let (mut environment, _events) = Environment::connect(&connector, &headers, &game).await?;
    environment.reset(arguments).await?;
    Ok(Json(json!(environment.step(answer).await?)))
}

/// Returns the name of the only environment: the id of the game.
async fn list_environments(
    State(connector): State<LocalConnector>,
    Path(game): Path<String>,
    headers: HeaderMap,
) -> Reply {
    let (environment, _events) = Environment::connect(&connector, &headers, &game).await?;
    Ok(Json(json!([environment.spec().game])))
}

async fn list_splits(
    State(connector): State<LocalConnector>,
    Path((game, env)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    match environment_name(&connector, &headers, &game, &env).await {
        Ok(_) => Json(tasks::splits()).into_response(),
        Err(refused) => refused,
    }
}

/// Answers the routes that list tasks.
async fn list_tasks(
    State(connector): State<LocalConnector>,
    Path((game, env, route)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = match object(&body) {
        Ok(request) => request,
        Err(failure) => return failure.into_response(),
    };
    match environment_name(&connector, &headers, &game, &env).await {
        Ok(name) => match tasks::respond(&route, &name, &request) {
            Some(Ok(reply)) => Json(reply).into_response(),
            Some(Err(failure)) => failure.into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        Err(refused) => refused,
    }
}

/// Returns the name of the environment, if `env` is its name.
async fn environment_name(
    connector: &LocalConnector,
    headers: &HeaderMap,
    game: &str,
    env: &str,
) -> Result<String, Response> {
    let (environment, _events) =
        Environment::connect(connector, headers, game).await.map_err(IntoResponse::into_response)?;
    let name = &environment.spec().game;
    match env.eq_ignore_ascii_case(name) {
        true => Ok(name.clone()),
        false => {
            let detail = format!("expected the environment {name}, got another name");
            Err((StatusCode::NOT_FOUND, Json(json!({ "detail": detail }))).into_response())
        }
    }
}

/// Reads a request body: an object, or nothing.
fn object(body: &[u8]) -> Result<Params, RequestFailure> {
    if body.is_empty() {
        return Ok(Params::new());
    }
    match serde_json::from_slice(body).map_err(|e| RequestFailure::json(&e))? {
        Value::Object(object) => Ok(object),
        other => Err(RequestFailure::field("body", "an object", Some(&other))),
    }
}
