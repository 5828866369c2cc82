//! HTTP calls to an endpoint. As in the server, TLS is provided by rustls and ring.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::{Body, RequestBuilder, Timeout};

use super::settings::is_local;

/// HTTP client, whose connection pool all agents share.
static CLIENT: LazyLock<ureq::Agent> = LazyLock::new(|| {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections_per_host(16)
        .build()
        .new_agent()
});

/// Maximum size of the response to a single request, in bytes.
pub(super) const MAX_REPLY_BYTES: u64 = 10 << 20;
/// Maximum number of characters of a response that are quoted in an error.
const EXCERPT: usize = 300;

/// Response of an endpoint.
#[derive(Clone, Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    /// Retry delay requested by the endpoint.
    pub(super) wait: Option<Duration>,
    pub(super) to: Option<String>,
    pub(super) text: String,
}

impl HttpResponse {
    /// Creates a response from the status and text of a batched request.
    pub(super) fn new(status: u16, text: String) -> Self {
        HttpResponse { status, wait: None, to: None, text: mended(text) }
    }

    pub(super) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Failure of an HTTP call.
#[derive(Clone, Debug)]
pub(super) enum HttpError {
    Slow,
    Later(String),
    Never(String),
}

pub(super) struct HttpRequest<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a [(&'static str, String)],
    /// Body of a POST request; `None` for a GET request.
    pub(super) body: Option<&'a [u8]>,
    pub(super) limit: Duration,
    /// Maximum size of the response in bytes.
    pub(super) most: u64,
}

impl HttpRequest<'_> {
    pub(super) fn send(self) -> Result<HttpResponse, HttpError> {
        let answered = match self.body {
            Some(body) => self.prepared(CLIENT.post(self.url)).send(body),
            None => self.prepared(CLIENT.get(self.url)).call(),
        };
        let read = answered.and_then(|mut response| {
            let text = response.body_mut().with_config().limit(self.most).read_to_string()?;
            Ok(HttpResponse {
                status: response.status().as_u16(),
                wait: wait_asked(&response),
                to: response.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned),
                text: mended(text),
            })
        });
        read.map_err(|e| match e {
            ureq::Error::Timeout(Timeout::Global) => HttpError::Slow,
            ureq::Error::Timeout(_) => {
                HttpError::Later(format!("no reply within {} s (timeout)", self.limit.as_secs_f64()))
            }
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
                HttpError::Never(format!("invalid request: {e}"))
            }
            ureq::Error::BodyExceedsLimit(most) => {
                HttpError::Never(format!("expected a reply of at most {most} bytes; is this a model endpoint?"))
            }
            e => HttpError::Later(format!("cannot connect: {e}; is the endpoint running, and is base_url right?")),
        })
    }

    fn prepared<B>(&self, mut request: RequestBuilder<B>) -> RequestBuilder<B> {
        for (name, value) in self.headers {
            request = request.header(*name, value);
        }
        let mut config = request.config().timeout_global(Some(self.limit));
        if is_local(self.url) {
            config = config.proxy(None);
        }
        config.build()
    }
}

/// Returns the start of a response's error message on one line, with the key masked.
pub(super) fn excerpt(text: &str, key: Option<&str>) -> String {
    let message = serde_json::from_str::<Value>(text).ok().and_then(|body| {
        // Some endpoints wrap their error in a list.
        let body = body.get(0).unwrap_or(&body);
        let error = &body["error"];
        error["message"].as_str().or(error.as_str()).map(str::to_owned)
    });
    let text = message.unwrap_or_else(|| text.to_owned());
    let text = key.map_or(text.clone(), |key| text.replace(key, "***"));
    let line: Vec<&str> = text.split_whitespace().collect();
    let line: String = line.join(" ").chars().take(EXCERPT).collect();
    if line.is_empty() { "no message".to_owned() } else { line }
}

/// Replaces unpaired surrogate escapes in JSON text. Truncated replies can contain them, and JSON parsers reject them.
fn mended(text: String) -> String {
    const ESCAPE: usize = 6;
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return text;
    }
    let half = |at: usize, kinds: &[u8]| {
        let bytes = text.as_bytes().get(at..at + ESCAPE)?;
        let hex = bytes[2..].iter().all(u8::is_ascii_hexdigit);
        (bytes.starts_with(b"\\u")
            && hex
            && bytes[2].eq_ignore_ascii_case(&b'd')
            && kinds.contains(&bytes[3].to_ascii_lowercase()))
        .then_some(())
    };
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(c) = text[at..].chars().next() {
        // An escaped backslash does not start an escape.
        let step = if text[at..].starts_with("\\\\") {
            2
        } else if half(at, b"89ab").is_some() && half(at + ESCAPE, b"cdef").is_some() {
            2 * ESCAPE
        } else if half(at, b"89abcdef").is_some() {
            out.push_str("\\ufffd");
            at += ESCAPE;
            continue;
        } else {
            c.len_utf8()
        };
        out.push_str(&text[at..at + step]);
        at += step;
    }
    out
}

/// Parses the `Retry-After` header in seconds; dates are ignored.
fn wait_asked(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get("retry-after")?.to_str().ok()?;
    text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_are_replaced() {
        for (text, mended_text) in [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud800 x""#, r#""\ufffd x""#),
            (r#""\uDC00""#, r#""\ufffd""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        ] {
            assert_eq!(mended(text.to_owned()), mended_text);
            assert!(serde_json::from_str::<Value>(&mended(text.to_owned())).is_ok(), "{text}");
        }
    }
}
