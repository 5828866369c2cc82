//! MCP, the Model Context Protocol: language models play by calling tools, over HTTP or over standard input and output.
//!
//! The door has no sessions. A game is an argument of each call, by its handle, and belongs to the token of the request.

mod arguments;
mod calls;
mod handles;
mod history;
mod practice;
mod reply;
mod resources;
mod seat;
mod seat_state;
mod server;
mod tools;

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use ludex_client::{LocalConnector, Options};
use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use self::calls::OwnGame;
use self::handles::Handles;
use self::server::McpServer;

/// First segment of the paths.
pub const PREFIX: &str = "/mcp";

/// Maximum size of a request body, or of a line of standard input, in bytes.
pub const BODY_BYTES: u64 = 512 << 10;

/// Games of all callers of a server.
#[derive(Clone, Default)]
pub struct McpGames(Arc<Handles<OwnGame>>);

/// Returns the routes for one HTTP connection. `games` is shared by all connections of a server.
pub fn routes(connector: LocalConnector, games: McpGames) -> Router {
    let options = Options { local: Some(connector), ..Options::default() };
    let server = McpServer::new("this server", options, games);
    // Without sessions, so that clients cost no memory between requests. The server in front checks Host and Origin.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES as usize)
        .disable_allowed_hosts();
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    Router::new().route_service(PREFIX, service)
}

/// Serves one client over standard input and output until the input ends. Games are played on the server at `url`.
///
/// # Errors
/// The client does not speak the protocol, or standard output is closed.
pub async fn serve_stdio(url: &str, options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let server = McpServer::new(url, options, McpGames::default());
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(BODY_BYTES as usize);
    server.serve(transport).await?.waiting().await?;
    Ok(())
}
