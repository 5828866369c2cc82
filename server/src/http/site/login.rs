//! Login with a token. The token is stored in a cookie that scripts cannot read.

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse, Json};
use ludex_pages::Page;
use ludex_pages::login::LoginPage;
use ludex_protocol::{ErrorCode, Refusal};
use serde::Deserialize;

use super::super::{failed, token};
use super::{Answer, App, errors, page as made, show};
use crate::auth;

/// Lifetime of the cookie in seconds.
const KEPT_S: u32 = 30 * 24 * 3_600;

#[derive(Default, Deserialize)]
pub(super) struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginQuery {
    /// True for a login by a link, which permits only tokens of invited people. Otherwise, a foreign link could log a
    /// visitor in as another owner.
    link: bool,
}

pub(super) async fn page(next: Query<Next>) -> Answer {
    show(Page::Login(LoginPage { next: local(&next.next).to_owned(), why: String::new() }))
}

/// Returns the login page in place of a page that requires a token. After the login, the browser returns to the address
/// `at`. `why` is the reason for the rejection.
pub(super) fn ask(at: &str, why: &str) -> Answer {
    made(StatusCode::UNAUTHORIZED, Page::Login(LoginPage { next: local(at).to_owned(), why: why.to_owned() }))
}

/// Returns `path` if it is a page of this server, else the front page. A browser removes control characters and reads a
/// backslash as a slash, so that `/\t/a.example` would lead to another server.
fn local(path: &str) -> &str {
    let foreign = path.starts_with("//") || path.contains(|c: char| c == '\\' || c.is_control());
    let own = path.starts_with('/') && !foreign && path.parse::<PathAndQuery>().is_ok();
    if own { path } else { "/" }
}

/// Stores the token from the `Authorization` header in a cookie. Pages of other origins cannot send this header to the
/// server.
pub(super) async fn enter(State((shared, peer)): App, query: Query<LoginQuery>, headers: HeaderMap) -> Answer {
    if !token::is_from_here(&headers) {
        return errors::foreign();
    }
    let Some(token) = token::bearer(&headers) else {
        return failed(StatusCode::BAD_REQUEST, Refusal::new(ErrorCode::BadField, "expected a bearer token, got none"));
    };
    match auth::admit(&shared.store, Some(&token), shared.welcomes_guests(&peer), shared.epoch_ms()).await {
        Ok(grant) if query.link && grant.invited.is_none() => {
            let why = "expected the token of an invited person; enter other tokens on /login";
            failed(StatusCode::FORBIDDEN, Refusal::new(ErrorCode::Forbidden, why))
        }
        Ok(grant) => {
            let told = serde_json::json!({ "owner": grant.owner, "agent": grant.default_name() });
            set(Json(told).into_response(), &headers, &token, KEPT_S)
        }
        Err(error) => failed(StatusCode::UNAUTHORIZED, Refusal::new(ErrorCode::Unauthorized, error.to_string())),
    }
}

pub(super) async fn leave(headers: HeaderMap) -> Answer {
    if !token::is_from_here(&headers) {
        return errors::foreign();
    }
    let gone = (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response();
    set(gone, &headers, "", 0)
}

/// Adds the cookie to a response. If the page was loaded over TLS, browsers send the cookie over TLS only.
fn set(mut answer: Answer, headers: &HeaderMap, token: &str, seconds: u32) -> Answer {
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes).unwrap_or_default();
    let secure = if origin.starts_with(b"https://") { "; Secure" } else { "" };
    let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", token::COOKIE);
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => drop(answer.headers_mut().insert(header::SET_COOKIE, cookie)),
        Err(_) => {
            return failed(
                StatusCode::BAD_REQUEST,
                Refusal::new(ErrorCode::BadField, "expected a token of printable ASCII characters"),
            );
        }
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_redirects_to_local_pages_only() {
        for own in
            ["/", "/play/chess", "/matches/m_1?seat=0&at=3", "/games/breakthrough(rows=8,columns=3)", "/runs#seasons"]
        {
            assert_eq!(local(own), own);
        }
        for foreign in [
            "",
            "matches",
            "//a.example",
            "/\\a.example",
            "\\/a.example",
            "/\t/a.example",
            "/\n/a.example",
            "/\r//a.example",
            "\t//a.example",
            "https://a.example/",
            "/\u{85}/a.example",
            "/\u{7f}",
            "/ /a.example",
            "javascript:alert(1)",
        ] {
            assert_eq!(local(foreign), "/", "{foreign:?}");
        }
    }
}
