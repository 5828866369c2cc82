//! Doors: routes of other protocols on the server's port. Their handlers are clients of the server in its own process,
//! so all limits, permissions and records are those of clients.

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio::io::DuplexStream;

/// Opens an in-process connection, over which a client speaks WebSocket in MessagePack without an HTTP handshake.
///
/// Fails if a limit on connections is reached or the server stops.
pub type Connect = Arc<dyn Fn() -> io::Result<DuplexStream> + Send + Sync>;

/// Routes of another protocol.
#[derive(Clone)]
pub struct Door {
    /// First segment of the paths with its slash, such as `/mcp`.
    pub prefix: &'static str,
    /// Maximum size of a request body in bytes.
    pub body_bytes: u64,
    /// Creates the routes for one HTTP connection. Their paths contain the prefix.
    pub routes: Arc<dyn Fn(Connect) -> Router + Send + Sync>,
}

impl Door {
    /// Returns true if a request path leads to this door.
    pub(crate) fn has(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_is_a_whole_segment() {
        let door = Door { prefix: "/mcp", body_bytes: 0, routes: Arc::new(|_| Router::new()) };
        assert!(door.has("/mcp") && door.has("/mcp/") && door.has("/mcp/a"));
        assert!(!door.has("/mcpx") && !door.has("/") && !door.has("/a/mcp"));
    }
}
