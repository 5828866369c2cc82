//! Access of HTTP requests: the permissions of the request's token, and the visitors that may see a match.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use ludex_protocol::{ErrorCode, Refusal};

use super::{Answer, failed, token};
use crate::auth::{self, AuthError, Grant, Scopes};
use crate::peer::Peer;
use crate::server_state::ServerState;

/// Returns the permissions of the request's token, or of a guest if the server requires no token.
///
/// # Errors
///
/// Those of [`auth::admit`].
pub(super) async fn grant((shared, peer): &(Arc<ServerState>, Peer), headers: &HeaderMap) -> Result<Grant, AuthError> {
    let token = token::of(headers);
    auth::admit(&shared.store, token.as_deref(), peer.guests_welcome(), shared.epoch_ms()).await
}

/// Checks that a visitor may see the public data of a match. The server requires a token unless the operator has opened
/// its matches (`serve --public`). A match of an open run requires a token of an owner in the run or of an
/// administrator, since its id can be guessed from the name of the run.
///
/// # Errors
///
/// `unauthorized` without a valid token, `forbidden` for a match of an open run of others.
pub(super) async fn to_match(
    app: &(Arc<ServerState>, Peer),
    headers: &HeaderMap,
    id: &str,
) -> Result<(), Box<Refusal>> {
    let (config, hub) = (&app.0.config, &app.0.hub);
    let run = hub.runs.open_run_of(id);
    if config.public && run.is_none() {
        return Ok(());
    }
    let grant = grant(app, headers).await.map_err(|e| Refusal::new(ErrorCode::Unauthorized, e.to_string()))?;
    let allowed = match (&grant.owner, run) {
        // A guest exists only on a server that requires no token.
        (None, _) | (_, None) => true,
        (Some(owner), Some(run)) => grant.may(Scopes::ADMIN) || hub.has_entrant_of(run, owner),
    };
    if allowed {
        return Ok(());
    }
    let message = "expected a token of an owner in the run; the match is open to others when its run ends";
    Err(Box::new(Refusal::new(ErrorCode::Forbidden, message)))
}

/// Returns the response for a visitor who may not see a match.
pub(super) fn denied(refusal: Refusal) -> Answer {
    let is_known = refusal.code == ErrorCode::Forbidden;
    failed(if is_known { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED }, refusal)
}
