//! Server of the protocol: requests for tools and resources, and the way from a request to the game server.

use std::sync::Arc;

use axum::http::request::Parts;
use ludex_client::protocol::message::AgentId;
use ludex_client::{Client, Error, Events, Options};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Extensions, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::tools::tools;
use super::{McpGames, resources};
use crate::access::bearer;

/// Words for the model about the tools.
const INSTRUCTIONS: &str = "Play games on a Ludex server. Begin a game with `begin`, or take a seat in a match with `join`. \
     Then call `play` with the id of the game and your move, as it stands in the list of legal moves, until the game is over. \
     `list_games` and `rules` tell what can be played.";

/// Server for one client, or for one HTTP connection.
#[derive(Clone)]
pub(super) struct McpServer {
    url: Arc<str>,
    pub options: Options,
    pub games: McpGames,
}

/// Sender of a request.
pub(super) struct Caller {
    pub token: Option<String>,
}

impl McpServer {
    /// Creates a server whose games are played on the game server at `url`.
    pub fn new(url: &str, options: Options, games: McpGames) -> Self {
        McpServer { url: url.into(), options, games }
    }

    /// Returns the sender of a request. A request over HTTP has its token in a header.
    fn caller(&self, extensions: &Extensions) -> Caller {
        let header = extensions.get::<Parts>().and_then(|parts| bearer(&parts.headers));
        Caller { token: header.or_else(|| self.options.token.clone()) }
    }

    /// Connects to the server with the token of a caller.
    pub async fn connect(
        &self,
        caller: &Caller,
        agent: Option<AgentId>,
        reclaim: bool,
    ) -> Result<(Client, Events), Error> {
        let options = Options {
            token: caller.token.clone(),
            agent,
            client: concat!("ludex-mcp/", env!("CARGO_PKG_VERSION")).to_owned(),
            reclaim,
            ..self.options.clone()
        };
        Client::connect(&self.url, options).await
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let info = Implementation::new("ludex", env!("CARGO_PKG_VERSION")).with_title("Ludex");
        ServerConfig::new(capabilities).with_server_info(info).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context.extensions);
        let called = self.call(&caller, &request.name, request.arguments.unwrap_or_default()).await;
        let called = called.ok_or_else(|| {
            let names: Vec<String> = tools().into_iter().map(|tool| tool.name.into_owned()).collect();
            ErrorData::invalid_params(format!("expected a tool; allowed: {}", names.join(", ")), None)
        })?;
        let reply = called.unwrap_or_else(|error| error);
        Ok(CallToolResponse::from(CallToolResult::from(reply)))
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context.extensions);
        let listed = async {
            let (client, _) = self.connect(&caller, None, false).await?;
            client.list_games(None).await
        };
        let games = listed.await.map_err(|error| ErrorData::invalid_request(error.to_string(), None))?;
        Ok(ListResourcesResult::with_all_items(games.iter().map(resources::rules_of).collect()))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = |why: String| ErrorData::resource_not_found(why, None);
        let game = resources::game_of(&request.uri)
            .ok_or_else(|| missing(format!("expected {}, got {:?}", resources::TEMPLATE, request.uri)))?;
        let spec = self.describe(&self.caller(&context.extensions), game).await;
        let spec = spec.map_err(|error| missing(error.to_string()))?;
        Ok(resources::rules(&request.uri, spec.text.unwrap_or_default()))
    }
}
