//! Doors of `ludex serve`: other protocols on its port.

use std::sync::Arc;

use ludex_client::LocalConnector;
#[cfg(feature = "mcp")]
use ludex_doors::mcp;
use ludex_doors::openenv;
use ludex_server::door::Door;

/// Returns the doors that a server opens.
pub fn doors() -> Vec<Door> {
    vec![
        Door {
            prefix: openenv::PREFIX,
            body_bytes: openenv::BODY_BYTES,
            routes: Arc::new(|connect| openenv::routes(LocalConnector::new(connect))),
        },
        #[cfg(feature = "mcp")]
        mcp_door(),
    ]
}

#[cfg(feature = "mcp")]
fn mcp_door() -> Door {
    let games = mcp::McpGames::default();
    Door {
        prefix: mcp::PREFIX,
        body_bytes: mcp::BODY_BYTES,
        routes: Arc::new(move |connect| mcp::routes(LocalConnector::new(connect), games.clone())),
    }
}
