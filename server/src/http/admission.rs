//! Admission of page requests: the rate of an address, and connections in reserved slots.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::header::{self, HeaderValue};
use axum::http::{Request, StatusCode};
use ludex_protocol::{ErrorCode, Refusal};

use super::{Answer, failed, site, token};
use crate::auth;
use crate::peer::Peer;
use crate::server_state::ServerState;

/// Number of ordinary requests that a costly request counts as.
const COST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);

/// Delay before a request beyond the budget is refused. A client that immediately repeats its request then costs little.
const REFUSAL_DELAY: Duration = Duration::from_millis(250);

/// Checks that the client may request a page, or make a request to a door, now.
///
/// # Errors
///
/// The response that rejects the request.
pub(super) async fn admit<B>(
    request: &Request<B>,
    is_door: bool,
    peer: &Peer,
    shared: &ServerState,
) -> Result<(), Box<Answer>> {
    if peer.entry.is_reserved() {
        let token = token::of(request.headers());
        let known = auth::admit(&shared.store, token.as_deref(), false, shared.epoch_ms()).await.is_ok();
        if !known {
            return Err(Box::new(full(shared)));
        }
        peer.entry.welcome(true);
    }
    // Games of a door are built for its in-process connection, whose limits apply.
    match wait_ms(!is_door && is_costly(request), peer, shared) {
        None => Ok(()),
        Some(ms) => {
            tokio::time::sleep(REFUSAL_DELAY).await;
            Err(Box::new(too_many(ms, shared)))
        }
    }
}

/// Charges a request to the client's budget. If the budget is too small, returns the time to wait in milliseconds.
fn wait_ms(is_costly: bool, peer: &Peer, shared: &ServerState) -> Option<u32> {
    if shared.limits.pages_per_s == 0 {
        return None;
    }
    let bucket = shared.page_rates.bucket(peer.ip);
    if is_costly { bucket.take_many(COST) } else { bucket.take() }
}

/// Returns true for a game with parameters, which the server may have to build, and for a form, which it may compare with
/// all tokens.
fn is_costly<B>(request: &Request<B>) -> bool {
    let uri = request.uri();
    let address = uri.path_and_query().map_or("", |address| address.as_str());
    has_parameters(address) || site::body_limit(request.method(), uri.path()) > 0
}

/// Returns true if an address contains a game string with parameters.
fn has_parameters(address: &str) -> bool {
    address.contains('(') || address.contains("%28")
}

fn too_many(ms: u32, shared: &ServerState) -> Answer {
    shared.metrics.count_refusal("request", "rate");
    let why = format!("expected at most {} requests per second; try again later", shared.limits.pages_per_s);
    let error = Refusal::new(ErrorCode::RateLimited, why).after_ms(ms);
    let mut answer = failed(StatusCode::TOO_MANY_REQUESTS, error);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000)));
    answer
}

/// Returns the error response for a connection in a reserved slot without a token. After the response, the connection
/// is closed.
fn full(shared: &ServerState) -> Answer {
    shared.metrics.count_refusal("request", "connections");
    let why = "limit of connections without a token reached; try again later";
    let mut answer = failed(StatusCode::SERVICE_UNAVAILABLE, Refusal::new(ErrorCode::Limit, why));
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    close_after(&mut answer);
    answer
}

/// Makes the connection close after a response.
pub(super) fn close_after(answer: &mut Answer) {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn game_parameters_are_detected_in_addresses() {
        for address in
            ["/games/nim(pile_sizes=1;2)/picture.svg", "/play/chess%28max_plies=4%29", "/ratings?game=a(b=1)"]
        {
            assert!(has_parameters(address), "{address}");
        }
        assert!(!has_parameters("/games/chess?rules=1"));
    }
}
