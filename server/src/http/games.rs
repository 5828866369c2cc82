//! Games named by addresses.

use axum::http::StatusCode;
use ludex_env::GameRef;
use ludex_protocol::spec::Params;
use ludex_protocol::{ErrorCode, Refusal};

use crate::peer::Peer;
use crate::server_state::ServerState;

/// Resolves the game that a URL names, as a job of the client's address.
///
/// # Errors
///
/// Fails for an unknown game, for bad parameters, and for parameters that contain a document: checking a document takes
/// long, and every visitor may request pages.
pub(super) async fn game_of(text: &str, peer: &Peer, shared: &ServerState) -> Result<GameRef, Box<Refusal>> {
    if text.contains('{') {
        let why = "expected a game without a document; send documents as `params` of describe, open or join";
        return Err(Box::new(Refusal::new(ErrorCode::BadParams, why)));
    }
    shared.catalogue.load_as(&shared.gym.compute, &peer.job_owner(), text, &Params::new()).await
}

/// Returns the HTTP status for a game that cannot be resolved.
pub(super) fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal.code {
        ErrorCode::UnknownGame => StatusCode::NOT_FOUND,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}
