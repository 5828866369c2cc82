//! Errors in the form of both APIs.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Json, Response};
use serde_json::{Value, json};

use super::Api;

pub(super) struct StubError {
    status: StatusCode,
    /// OpenAI's code of this error, if any.
    code: Option<&'static str>,
    message: String,
    /// Value of Retry-After in seconds.
    retry_after: Option<u32>,
}

impl StubError {
    fn new(status: StatusCode, code: Option<&'static str>, message: impl Into<String>) -> Self {
        StubError { status, code, message: message.into(), retry_after: None }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, None, message)
    }

    pub(super) fn key(is_sent: bool) -> Self {
        let message = if is_sent { "wrong API key" } else { "expected an API key; send Authorization: Bearer KEY" };
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_api_key"), message)
    }

    pub(super) fn model(model: &str) -> Self {
        let message = format!("the model {model:?} does not exist");
        Self::new(StatusCode::NOT_FOUND, Some("model_not_found"), message)
    }

    /// Creates the error for an unknown id.
    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, None, message)
    }

    pub(super) fn unknown_page() -> Self {
        let message = "unknown page; use POST /v1/chat/completions, POST /v1/messages or GET /v1/models";
        Self::new(StatusCode::NOT_FOUND, None, message)
    }

    pub(super) fn wrong_method() -> Self {
        let message = "wrong method; use POST /v1/chat/completions, POST /v1/messages or GET /v1/models";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, None, message)
    }

    pub(super) fn context(api: Api, tokens: u64, most: u64) -> Self {
        let message = match api {
            Api::OpenAi => format!(
                "This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
            ),
            Api::Anthropic => format!("prompt is too long: {tokens} tokens > {most} maximum"),
        };
        Self::new(StatusCode::BAD_REQUEST, Some("context_length_exceeded"), message)
    }

    pub(super) fn schema() -> Self {
        let message = "response_format and forced tools are not supported by this model";
        Self::new(StatusCode::BAD_REQUEST, Some("unsupported_parameter"), message)
    }

    pub(super) fn rate_limit(seconds: u32) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, Some("rate_limit_exceeded"), "too many requests");
        StubError { retry_after: Some(seconds), ..error }
    }

    pub(super) fn internal(message: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, None, message)
    }

    pub(super) fn down() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, None, "the stub is down (--down-after)")
    }

    /// Converts the error to an HTTP response in the form of the API.
    pub(super) fn response(self, api: Api) -> Response {
        let (status, body) = self.document(api);
        let mut response = (status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    /// Returns the HTTP status and the body of the error.
    pub(super) fn document(&self, api: Api) -> (StatusCode, Value) {
        let StubError { status, code, message, .. } = self;
        let body = match api {
            Api::OpenAi => {
                let kind = match status.as_u16() {
                    429 => "rate_limit_error",
                    500.. => "server_error",
                    _ => "invalid_request_error",
                };
                json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
            }
            Api::Anthropic => {
                let kind = match status.as_u16() {
                    401 => "authentication_error",
                    404 => "not_found_error",
                    429 => "rate_limit_error",
                    500.. => "api_error",
                    _ => "invalid_request_error",
                };
                json!({ "type": "error", "error": { "type": kind, "message": message } })
            }
        };
        (*status, body)
    }
}
