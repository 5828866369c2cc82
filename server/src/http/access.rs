//! Access of HTTP requests: the permissions of the request's token, and the visitors that may see a match.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use ludex_protocol::{ErrorCode, Refusal};

use super::{Answer, failed, token};
use crate::auth::{self, AuthError, Grant, Scopes};
use crate::peer::Peer;
use crate::server_state::ServerState;
use ludex_arena::matches::RunObserver as _;

/// Returns the permissions of the request's token, or of a guest if the server requires no token.
///
/// # Errors
///
/// Returns the errors of [`auth::admit`].
pub(super) async fn grant((shared, peer): &(Arc<ServerState>, Peer), headers: &HeaderMap) -> Result<Grant, AuthError> {
    let token = token::of(headers);
    auth::admit(&shared.store, token.as_deref(), shared.welcomes_guests(peer), shared.epoch_ms()).await
}

/// Checks that a visitor may see the public data of a match. If the server requires tokens, the visitor needs a token,
/// unless the operator has opened all matches (`serve --public`). This exception does not apply to a match of an open
/// run.
///
/// # Errors
///
/// `unauthorized` without a valid token, `forbidden` for a match of an open run in which the visitor has no agent.
pub(super) async fn to_match(
    app: &(Arc<ServerState>, Peer),
    headers: &HeaderMap,
    id: &str,
) -> Result<(), Box<Refusal>> {
    let runs = &app.0.runs;
    if app.0.config.public && runs.open_run_of(id).is_none() {
        return Ok(());
    }
    let grant = grant(app, headers).await.map_err(|e| Refusal::new(ErrorCode::Unauthorized, e.to_string()))?;
    runs.check_visible(id, grant.owner.as_deref(), grant.may(Scopes::ADMIN))
}

/// Returns the response for a visitor who may not see a match.
pub(super) fn denied(refusal: Refusal) -> Answer {
    let is_known = refusal.code == ErrorCode::Forbidden;
    failed(if is_known { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED }, refusal)
}
