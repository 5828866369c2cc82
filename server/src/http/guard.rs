//! Security checks for all HTTP requests.
//!
//! A web page can make its visitor's browser send requests to a server on the same machine. A page can also point its
//! own host name at 127.0.0.1 ("DNS rebinding"): the browser then treats the server as part of the page, and only the
//! `Host` header reveals the difference.

use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Request, StatusCode, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Rejection of a request: the HTTP status, a label for `/metrics`, and an error message.
pub(super) type GuardRejection = (StatusCode, &'static str, &'static str);

/// Checks that the body of a request has at most `body` bytes, and that its `Host` header is allowed. On a `loopback`
/// port, only names of this machine and those in `hosts` are allowed.
///
/// # Errors
///
/// The reason for the rejection.
pub(super) fn request<B>(
    request: &Request<B>,
    body: u64,
    loopback: bool,
    hosts: &[String],
) -> Result<(), GuardRejection> {
    let headers = request.headers();
    let length = |value: &HeaderValue| value.to_str().ok()?.parse::<u64>().ok();
    let fits = headers.get_all(header::CONTENT_LENGTH).iter().all(|value| length(value).is_some_and(|n| n <= body));
    if !fits || headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(match body {
            0 => (StatusCode::BAD_REQUEST, "body", "expected a request without a body"),
            _ => (StatusCode::PAYLOAD_TOO_LARGE, "body", "expected a short form with the header Content-Length"),
        });
    }
    let named: Vec<_> = headers.get_all(header::HOST).iter().collect();
    // Every browser sends Host; some health checks use HTTP/1.0 and omit it.
    if named.len() > 1 || named.is_empty() && request.version() != Version::HTTP_10 {
        return Err((StatusCode::BAD_REQUEST, "host", "expected one Host header"));
    }
    let named = named.iter().map(|host| host.to_str().unwrap_or_default());
    let mut named = named.chain(request.uri().authority().map(|authority| authority.as_str()));
    if loopback && !named.all(|host| host_allowed(host, hosts)) {
        return Err((
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            "expected a known host name; the operator can allow more (serve --allowed-host NAME)",
        ));
    }
    Ok(())
}

/// Returns the `Sec-WebSocket-Key` of a WebSocket request that meets RFC 6455, section 4.2.1.
///
/// # Errors
///
/// The reason for the rejection.
pub(super) fn upgrade<'a, B>(request: &'a Request<B>, origins: &[String]) -> Result<&'a HeaderValue, GuardRejection> {
    let headers = request.headers();
    if request.version() < Version::HTTP_11 {
        return Err((StatusCode::BAD_REQUEST, "version", "expected HTTP/1.1 for a WebSocket"));
    }
    let keys: Vec<_> = headers.get_all(header::SEC_WEBSOCKET_KEY).iter().collect();
    let [key] = keys[..] else {
        return Err((StatusCode::BAD_REQUEST, "key", "expected one Sec-WebSocket-Key header"));
    };
    if STANDARD.decode(key.as_bytes()).is_ok_and(|bytes| bytes.len() == 16) {
        return origin(headers, origins).map(|()| key);
    }
    Err((StatusCode::BAD_REQUEST, "key", "Sec-WebSocket-Key: expected 16 bytes in base64"))
}

/// Checks the `Origin` header: only pages of this machine and the allowed origins may connect. Browsers always send an
/// origin; other programs do not.
///
/// # Errors
///
/// The reason for the rejection.
pub(super) fn origin(headers: &HeaderMap, allowed: &[String]) -> Result<(), GuardRejection> {
    let fits = |origin: &HeaderValue| {
        let Ok(origin) = origin.to_str() else { return false };
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        is_home(host) || allowed.iter().any(|a| a == "*" || a.trim_end_matches('/').eq_ignore_ascii_case(origin))
    };
    if headers.get_all(header::ORIGIN).iter().all(fits) {
        return Ok(());
    }
    let why = "expected an allowed web origin; the operator can allow more (serve --allowed-origin)";
    Err((StatusCode::FORBIDDEN, "origin", why))
}

fn host_allowed(host: &str, allowed: &[String]) -> bool {
    let named = |a: &String| a == "*" || a.eq_ignore_ascii_case(host) || a.eq_ignore_ascii_case(name_of(host));
    is_home(host) || allowed.iter().any(named)
}

/// Returns true if a host, with or without a port, names this machine.
fn is_home(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "[::1]")
}

/// Returns a host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(origins: &[&'static str]) -> HeaderMap {
        origins.iter().map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))).collect()
    }

    #[test]
    fn foreign_origins_are_rejected() {
        assert!(origin(&HeaderMap::new(), &[]).is_ok());
        for home in ["http://localhost:3000", "http://127.0.0.1:7878", "http://[::1]:80", "https://localhost"] {
            assert!(origin(&from(&[home]), &[]).is_ok(), "{home}");
        }
        for away in
            ["https://evil.example", "null", "http://localhost.evil.example", "file://", "http://127.0.0.1.evil"]
        {
            assert!(origin(&from(&[away]), &[]).is_err(), "{away}");
        }
        assert!(origin(&from(&["https://good.example"]), &["https://good.example/".into()]).is_ok());
        assert!(origin(&from(&["https://any.example"]), &["*".into()]).is_ok());
    }

    #[test]
    fn unknown_hosts_are_rejected() {
        for home in ["localhost", "LOCALHOST:7878", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:7878"] {
            assert!(host_allowed(home, &[]), "{home}");
        }
        for away in ["", "evil.example", "localhost.evil.example:7878", "127.0.0.1.evil", "10.0.0.7", ":7878"] {
            assert!(!host_allowed(away, &[]), "{away}");
        }
        let named = ["play.example".to_owned(), "only.example:443".to_owned()];
        assert!(host_allowed("play.example:7878", &named) && host_allowed("Only.example:443", &named));
        assert!(!host_allowed("only.example", &named) && host_allowed("any.example", &["*".to_owned()]));
    }
}
