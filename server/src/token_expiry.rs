//! Tokens that end while their connections are open.

use std::sync::Weak;
use std::time::Duration;

use crate::server_state::ServerState;

/// How often the tokens of open connections are looked at again.
const AGAIN: Duration = Duration::from_secs(1);

/// Closes connections whose token was revoked or has expired, as long as the server lives. A command in another process
/// revokes tokens, so the store is asked.
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
            tracing::error!(%error, "the tokens of open connections could not be checked");
        }
        failed = void.is_err();
        if let Ok(void) = void {
            shared.hub.sessions.close_those_of(&void);
        }
    }
}
