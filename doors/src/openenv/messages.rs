//! Messages of a session on its WebSocket.

use ludex_client::protocol::spec::Params;
use serde::Serialize;
use serde_json::Value;

use super::arguments::{Arguments, answer};
use super::environment::Environment;
use super::failure::RequestFailure;
use super::rpc;

/// Message of a client.
#[derive(Debug)]
enum Request {
    Reset(Params),
    Step(Params),
    State,
    Mcp(Params),
    Close,
}

/// Effect of a message on its session.
pub(super) enum MessageOutcome {
    /// The session continues after this reply.
    Reply(String),
    /// The session ends after this reply.
    Last(String),
    /// The client has closed the session.
    Closed,
}

impl MessageOutcome {
    /// Returns the outcome of a failure.
    pub(super) fn of(failure: &RequestFailure) -> Self {
        if failure.ends() { MessageOutcome::Last(failure.message()) } else { MessageOutcome::Reply(failure.message()) }
    }
}

/// Executes a message of a session.
pub(super) async fn execute(environment: &mut Environment, text: &str) -> MessageOutcome {
    let reply = async {
        Ok(match read(text)? {
            Request::Reset(arguments) => message("observation", &environment.reset(Arguments::read(arguments)?).await?),
            Request::Step(action) => message("observation", &environment.step(answer(action)?).await?),
            Request::State => message("state", &environment.state()),
            Request::Mcp(request) => message("mcp", &rpc::respond(Value::Object(request))),
            Request::Close => return Ok(MessageOutcome::Closed),
        })
    };
    reply.await.unwrap_or_else(|failure| MessageOutcome::of(&failure))
}

/// Returns a reply of this type.
fn message<T: Serialize>(kind: &'static str, data: &T) -> MessageOutcome {
    #[derive(Serialize)]
    struct ReplyMessage<'a, T> {
        r#type: &'static str,
        data: &'a T,
    }
    // Texts and numbers always have a JSON form.
    let reply = ReplyMessage { r#type: kind, data };
    MessageOutcome::Reply(serde_json::to_string(&reply).unwrap_or_default())
}

/// Reads a message.
///
/// # Errors
/// A text that is not JSON, an unknown type, or an invalid field.
fn read(text: &str) -> Result<Request, RequestFailure> {
    let mut message = match serde_json::from_str(text).map_err(|e| RequestFailure::json(&e))? {
        Value::Object(message) => message,
        other => return Err(RequestFailure::field("message", "an object with the field type", Some(&other))),
    };
    let kind = message.remove("type").unwrap_or(Value::Null);
    let data = match message.remove("data") {
        Some(Value::Object(data)) => Some(data),
        Some(other) => return Err(RequestFailure::field("data", "an object", Some(&other))),
        None => None,
    };
    if let Some((name, value)) = message.iter().next() {
        return Err(RequestFailure::field(name, "only the fields type and data", Some(value)));
    }
    let required = |data: Option<Params>| data.ok_or_else(|| RequestFailure::field("data", "an object", None));
    let none = |data: Option<Params>, request| match data {
        Some(data) => Err(RequestFailure::field("data", "no data", Some(&Value::Object(data)))),
        None => Ok(request),
    };
    match kind.as_str() {
        Some("reset") => Ok(Request::Reset(data.unwrap_or_default())),
        Some("step") => required(data).map(Request::Step),
        Some("state") => none(data, Request::State),
        Some("mcp") => required(data).map(Request::Mcp),
        Some("close") => none(data, Request::Close),
        _ => Err(RequestFailure::kind(&kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_messages_get_the_codes_of_openenv() {
        for (text, code) in [
            ("", "INVALID_JSON"),
            ("{\"type\":", "INVALID_JSON"),
            ("[1]", "VALIDATION_ERROR"),
            ("{}", "UNKNOWN_TYPE"),
            (r#"{"type":7}"#, "UNKNOWN_TYPE"),
            (r#"{"type":"jump"}"#, "UNKNOWN_TYPE"),
            (r#"{"type":"step"}"#, "VALIDATION_ERROR"),
            (r#"{"type":"step","data":[]}"#, "VALIDATION_ERROR"),
            (r#"{"type":"reset","data":{},"seed":7}"#, "VALIDATION_ERROR"),
            (r#"{"type":"state","data":{}}"#, "VALIDATION_ERROR"),
        ] {
            let message = read(text).unwrap_err().message();
            assert!(message.contains(code), "{text}: {message}");
        }
        assert!(matches!(read(r#"{"type":"reset"}"#), Ok(Request::Reset(data)) if data.is_empty()));
    }
}
