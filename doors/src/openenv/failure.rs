//! Failures of requests: error messages on a WebSocket, error responses over HTTP.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use ludex_client::Error;
use ludex_client::protocol::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Names of the arguments of `reset` that are not settings of the prompt.
const ARGUMENTS: &str = "seed, episode_id, seat, opponents, tries, scale, divisor, penalty, max_steps, record";

/// Maximum number of characters of a value in an error message.
const MAX_ECHO: usize = 80;

/// Error code of OpenEnv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum FailureCode {
    InvalidJson,
    UnknownType,
    ValidationError,
    ExecutionError,
    CapacityReached,
    FactoryError,
    SessionError,
}

/// Request that failed, with its reason.
#[derive(Clone, Debug)]
pub(super) struct RequestFailure {
    code: FailureCode,
    status: StatusCode,
    message: String,
    /// Field that is invalid, with [`FailureCode::ValidationError`].
    field: Option<String>,
    /// Error code of Ludex, if the server refused a request.
    reason: Option<ErrorCode>,
    /// True if the session cannot continue.
    ends: bool,
}

impl RequestFailure {
    fn new(code: FailureCode, status: StatusCode, message: impl Into<String>) -> Self {
        RequestFailure { code, status, message: message.into(), field: None, reason: None, ends: false }
    }

    /// Returns the failure of a text that is not JSON.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        RequestFailure::new(
            FailureCode::InvalidJson,
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("expected JSON: {error}"),
        )
    }

    /// Returns the failure of a message of unknown type.
    pub(super) fn kind(got: &Value) -> Self {
        let message =
            format!("type: expected a message type, got {}; allowed: reset, step, state, close, mcp", echo(got));
        RequestFailure::new(FailureCode::UnknownType, StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// Returns the failure of an invalid field.
    pub(super) fn field(name: &str, expected: &str, got: Option<&Value>) -> Self {
        let got = got.map_or_else(|| "nothing".to_owned(), echo);
        let message = format!("{name}: expected {expected}, got {got}");
        let failure = RequestFailure::new(FailureCode::ValidationError, StatusCode::UNPROCESSABLE_ENTITY, message);
        RequestFailure { field: Some(name.to_owned()), ..failure }
    }

    /// Returns the failure of a request that the episode does not permit now.
    pub(super) fn execution(message: &str) -> Self {
        RequestFailure::new(FailureCode::ExecutionError, StatusCode::BAD_REQUEST, message)
    }

    /// Returns the failure of the start of a session, after which the session ends.
    pub(super) fn at_start(mut self) -> Self {
        if self.code == FailureCode::ExecutionError {
            self.code = FailureCode::FactoryError;
        }
        RequestFailure { ends: true, ..self }
    }

    /// Returns true if the session cannot continue.
    pub(super) fn ends(&self) -> bool {
        self.ends
    }

    /// Returns the message of type `error`.
    pub(super) fn message(&self) -> String {
        let mut data =
            Map::from_iter([("message".to_owned(), json!(self.message)), ("code".to_owned(), json!(self.code))]);
        if let Some(reason) = self.reason {
            data.insert("reason".to_owned(), json!(reason));
        }
        if let Some(field) = &self.field {
            data.insert("errors".to_owned(), self.details(json!([field])));
        }
        json!({ "type": "error", "data": data }).to_string()
    }

    fn details(&self, location: Value) -> Value {
        json!([{ "type": "value_error", "loc": location, "msg": self.message }])
    }
}

impl From<Error> for RequestFailure {
    fn from(error: Error) -> Self {
        use {ErrorCode as Code, FailureCode as Kind};
        let Error::Refused(refusal) = &error else {
            let (kind, message) = match error {
                Error::Connect { why, .. } => (Kind::CapacityReached, why),
                other => (Kind::SessionError, other.to_string()),
            };
            return RequestFailure {
                ends: true,
                ..RequestFailure::new(kind, StatusCode::SERVICE_UNAVAILABLE, message)
            };
        };
        if let Some(name) = refusal.path.as_deref().and_then(|path| path.strip_prefix("prompt.")) {
            // An argument that is unknown to the door and to the server may be a misspelled one of the door.
            let is_unknown = refusal.allowed.as_ref().is_some_and(|allowed| lists(allowed, "prompting"));
            let others = if is_unknown { format!(", {ARGUMENTS}") } else { String::new() };
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            let failure = RequestFailure::new(Kind::ValidationError, status, format!("{}{others}", refusal.message));
            return RequestFailure { field: Some(name.to_owned()), reason: Some(refusal.code), ..failure };
        }
        let (kind, status) = match refusal.code {
            Code::Unauthorized => (Kind::SessionError, StatusCode::UNAUTHORIZED),
            Code::Forbidden => (Kind::SessionError, StatusCode::FORBIDDEN),
            Code::Limit | Code::RateLimited | Code::WindowFull => {
                (Kind::CapacityReached, StatusCode::TOO_MANY_REQUESTS)
            }
            Code::Draining => (Kind::SessionError, StatusCode::SERVICE_UNAVAILABLE),
            Code::UnknownGame => (Kind::ExecutionError, StatusCode::NOT_FOUND),
            Code::TooLarge => (Kind::ExecutionError, StatusCode::PAYLOAD_TOO_LARGE),
            Code::Internal => (Kind::ExecutionError, StatusCode::INTERNAL_SERVER_ERROR),
            _ => (Kind::ExecutionError, StatusCode::BAD_REQUEST),
        };
        RequestFailure { reason: Some(refusal.code), ..RequestFailure::new(kind, status, refusal.message.clone()) }
    }
}

impl IntoResponse for RequestFailure {
    fn into_response(self) -> Response {
        let detail = match &self.field {
            Some(field) => self.details(json!(["body", field])),
            None => json!(self.message),
        };
        (self.status, Json(json!({ "detail": detail }))).into_response()
    }
}

/// Returns true if the allowed values are a list with this name.
fn lists(allowed: &Value, name: &str) -> bool {
    allowed.as_array().is_some_and(|names| names.iter().any(|known| known == name))
}

/// Returns a value as an error message shows it.
fn echo(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_ECHO) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_is_short() {
        assert_eq!(echo(&json!("a")), "\"a\"");
        assert_eq!(echo(&json!("ä".repeat(200))).chars().count(), MAX_ECHO + 3);
    }

    #[test]
    fn failure_at_start_ends_the_session() {
        let failure = RequestFailure::execution("no such game").at_start();
        assert!(failure.ends() && failure.message().contains("FACTORY_ERROR"));
    }
}
