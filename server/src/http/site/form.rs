//! Forms that browsers send.

use std::sync::Arc;

use axum::extract::{Form, FromRequest as _, Request};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use ludex_protocol::{ErrorCode, Refusal};
use serde::de::DeserializeOwned;

use super::super::{failed, token};
use super::{Answer, errors};
use crate::peer::Peer;
use crate::server_state::ServerState;

/// Returns the headers of a request and the fields of its form.
///
/// # Errors
///
/// The response to a request from a page of another server, to a body that is not a form, and to a form that does not
/// arrive in time.
pub(super) async fn entered<T: DeserializeOwned>(
    request: Request,
    peer: &Peer,
    shared: &Arc<ServerState>,
) -> Result<(HeaderMap, T), Box<Answer>> {
    let headers = request.headers().clone();
    if !token::is_from_here(&headers) {
        return Err(Box::new(errors::foreign()));
    }
    let refusal = |status, code, why: String| Box::new(failed(status, Refusal::new(code, why)));
    let time = peer.hello_time(&shared.limits);
    match tokio::time::timeout(time, Form::<T>::from_request(request, &())).await {
        Ok(Ok(Form(fields))) => Ok((headers, fields)),
        Ok(Err(error)) => {
            let why = format!("expected a form (application/x-www-form-urlencoded): {error}");
            Err(refusal(StatusCode::BAD_REQUEST, ErrorCode::BadField, why))
        }
        Err(_) => {
            let why = format!("expected the form within {} seconds", time.as_secs_f64());
            Err(refusal(StatusCode::REQUEST_TIMEOUT, ErrorCode::BadMessage, why))
        }
    }
}
