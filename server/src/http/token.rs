//! Token of an HTTP request, from the `Authorization` header or the cookie that the page `/login` sets.

use axum::http::header::{self, HeaderMap};

/// Name of the cookie.
pub(super) const COOKIE: &str = "ludex_token";

/// Returns the token of a request from the `Authorization` header or, without one, from the cookie.
pub(super) fn of(headers: &HeaderMap) -> Option<String> {
    bearer(headers).or_else(|| in_cookie(headers))
}

/// Returns the token of the `Authorization` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Returns the token of the cookie.
pub(super) fn in_cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, value)| *name == COOKIE && !value.is_empty()).map(|(_, value)| value.to_owned())
}

/// Returns true if a page of this server sent the request. A cookie is no proof, since browsers also attach cookies to
/// requests from other ports of the same machine.
pub(super) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    matches!((origin, text(header::HOST)), (Some((_, origin)), Some(host)) if origin.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(list: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn token_is_read_from_header_and_cookie() {
        let cookie = (header::COOKIE, "a=1; ludex_token=lx_c; b=2");
        assert_eq!(of(&headers(std::slice::from_ref(&cookie))).as_deref(), Some("lx_c"));
        assert_eq!(of(&headers(&[cookie, (header::AUTHORIZATION, "Bearer lx_h")])).as_deref(), Some("lx_h"));
        assert_eq!(of(&headers(&[(header::COOKIE, "xludex_token=lx_c; ludex_token=")])), None);
    }

    #[test]
    fn cookie_is_accepted_only_from_pages_of_this_server() {
        let of = |origin, host| is_from_here(&headers(&[(header::ORIGIN, origin), (header::HOST, host)]));
        assert!(of("http://127.0.0.1:7878", "127.0.0.1:7878") && of("https://Play.example", "play.example"));
        assert!(!of("http://127.0.0.1:3000", "127.0.0.1:7878") && !of("null", "null") && !of("http://a.b", "b"));
        assert!(!is_from_here(&headers(&[(header::HOST, "a")])));
    }
}
