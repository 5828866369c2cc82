//! OpenEnv: environments for the training of language models, over HTTP and WebSockets in JSON.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use ludex_client::LocalConnector;
use serde_json::json;

use crate::access::connect;

/// First segment of the paths.
pub const PREFIX: &str = "/openenv";

/// Maximum size of a request body in bytes.
pub const BODY_BYTES: u64 = 64 << 10;

/// Returns the routes for one HTTP connection.
pub fn routes(connector: LocalConnector) -> Router {
    Router::new().route("/openenv/{game}/health", get(health)).with_state(connector)
}

/// Replies that the server is healthy if it offers the game and admits the client.
async fn health(State(connector): State<LocalConnector>, Path(game): Path<String>, headers: HeaderMap) -> Response {
    let described = async {
        let (client, _) = connect(&connector, &headers, "openenv").await?;
        client.describe(&game, Default::default(), false).await
    };
    match described.await {
        Ok(_) => Json(json!({ "status": "healthy" })).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, Json(json!({ "detail": error.to_string() }))).into_response(),
    }
}
