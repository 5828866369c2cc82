//! SVG responses.

use axum::http::header;
use axum::response::IntoResponse;

use super::Answer;

/// Returns an SVG picture as a response with the cache policy `kept`.
pub(super) fn svg(svg: String, kept: &'static str) -> Answer {
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, kept),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, svg).into_response()
}
