//! SVG responses.

use axum::http::header;

use super::{Answer, send};
use crate::response_body::ResponseBody;

/// Returns an SVG picture as a response with the cache policy `kept`.
pub(super) fn svg(svg: ResponseBody, kept: &'static str) -> Answer {
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, kept),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    send(headers, svg)
}
