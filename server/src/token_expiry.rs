//! Expiry of tokens while their connections are open.

use std::sync::Weak;
use std::time::Duration;

use crate::server_state::ServerState;

/// Interval between checks of the tokens of open connections.
const AGAIN: Duration = Duration::from_secs(1);

/// Closes connections whose token was revoked or has expired, until the server stops. Queries the store, since a
/// command in another process may revoke tokens.
pub(crate) async fn watch(shared: Weak<ServerState>) {
    let mut failed = false;
    loop {
        tokio::time::sleep(AGAIN).await;
        let Some(shared) = shared.upgrade() else { return };
        let used = shared.hub.sessions.tokens();
        if used.is_empty() {
            continue;
        }
        let void = shared.store.void_tokens(used, shared.epoch_ms()).await;
        if let Err(error) = &void
            && !failed
        {
            tracing::error!(%error, "token check failed");
        }
        failed = void.is_err();
        if let Ok(void) = void {
            shared.hub.sessions.close_those_of(&void);
        }
    }
}
