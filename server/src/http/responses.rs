//! Last step of each response: its entity tag, and compression if the client accepts gzip.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, Request, Response, StatusCode};
use flate2::Compression;

use super::{Answer, compute};
use crate::peer::Peer;
use crate::response_body::ResponseBody;
use crate::server_state::ServerState;

/// Maximum size in bytes of a body that is hashed immediately, instead of in a job.
const SMALL: usize = 1_024;

/// Properties of a request that determine the form of the response.
pub(super) struct ResponseOptions {
    is_get: bool,
    gzip: bool,
    /// Values of the header `If-None-Match`.
    known: Vec<HeaderValue>,
}

impl ResponseOptions {
    pub fn of<B>(request: &Request<B>) -> Self {
        let headers = request.headers();
        ResponseOptions {
            is_get: request.method() == Method::GET,
            gzip: accepts_gzip(headers),
            known: headers.get_all(header::IF_NONE_MATCH).into_iter().cloned().collect(),
        }
    }

    /// Returns true if the client already has the body with this tag.
    fn has(&self, tag: &HeaderValue) -> bool {
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let Ok(tag) = tag.to_str().map(opaque) else { return false };
        let known = self.known.iter().filter_map(|known| known.to_str().ok());
        known.flat_map(|known| known.split(',')).map(opaque).any(|known| known == tag || known == "*")
    }
}

/// Adds an entity tag to a response, and compresses it or answers 304 where possible. Errors, streams and empty bodies
/// stay as they are.
pub(super) async fn finish(answer: Answer, options: ResponseOptions, peer: &Peer, shared: &ServerState) -> Answer {
    let (mut head, body) = answer.into_parts();
    if !options.is_get || head.status != StatusCode::OK {
        return Response::from_parts(head, body);
    }
    let document = match head.extensions.remove::<ResponseBody>() {
        Some(document) => document,
        None if body.size_hint().exact().is_none_or(|bytes| bytes == 0) => return Response::from_parts(head, body),
        None => {
            // The whole body is in memory, so reading it cannot fail.
            let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
            let level = (options.gzip && is_text(&head.headers)).then(Compression::fast);
            let made = match bytes.len() {
                ..=SMALL => Ok(ResponseBody::new(bytes, None)),
                _ => compute(shared, peer, move || ResponseBody::new(bytes, level)).await,
            };
            match made {
                Ok(document) => document,
                Err(failure) => return *failure,
            }
        }
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if options.has(&document.tag) {
        head.status = StatusCode::NOT_MODIFIED;
        head.headers.remove(header::CONTENT_TYPE);
        head.headers.insert(header::ETAG, document.tag);
        return Response::from_parts(head, Body::empty());
    }
    head.headers.insert(header::ETAG, document.tag);
    let bytes = match document.gzip.filter(|_| options.gzip) {
        Some(gzip) => {
            head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            gzip
        }
        None => document.bytes,
    };
    Response::from_parts(head, Body::from(bytes))
}

/// Returns true if the client accepts gzip (RFC 9110, section 12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = || weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused()
    })
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/") || kind.ends_with("json") || kind.ends_with("jsonl") || kind.ends_with("+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        let of = |value| accepts_gzip(&headers(header::ACCEPT_ENCODING, &[value]));
        assert!(of("gzip") && of("br, GZIP;q=0.5") && of("deflate,gzip; q=1"));
        assert!(!of("br") && !of("gzip;q=0") && !of("gzip; q=0.000") && !of("xgzip"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn known_entity_tags_are_compared_weakly() {
        let has = |values: &[&'static str]| {
            let known = values.iter().map(|value| HeaderValue::from_static(value)).collect();
            ResponseOptions { is_get: true, gzip: false, known }.has(&HeaderValue::from_static("W/\"a1\""))
        };
        assert!(has(&["W/\"a1\""]) && has(&["\"b\", \"a1\""]) && has(&["\"b\"", "*"]));
        assert!(!has(&[]) && !has(&["\"b\""]) && !has(&["a1"]));
    }

    #[test]
    fn text_is_recognized_by_its_content_type() {
        let of = |value| is_text(&headers(header::CONTENT_TYPE, &[value]));
        assert!(of("text/html; charset=utf-8") && of("application/json") && of("image/svg+xml"));
        assert!(!of("image/png") && !of("application/octet-stream"));
    }
}
