//! Answers and errors as both APIs write them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Json, Response};
use serde_json::{Value, json};

use super::answer::{Answer, Finish};
use super::request::{Api, Request, tokens};

/// Why there is no answer.
pub(super) struct Problem {
    status: StatusCode,
    /// OpenAI's code, where there is one.
    code: Option<&'static str>,
    message: String,
    /// Seconds to wait.
    retry_after: Option<u32>,
}

impl Problem {
    fn new(status: StatusCode, code: Option<&'static str>, message: impl Into<String>) -> Self {
        Problem { status, code, message: message.into(), retry_after: None }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, None, message)
    }

    pub(super) fn key(shown: bool) -> Self {
        let message = if shown { "the key is wrong" } else { "no key was shown; send Authorization: Bearer KEY" };
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_api_key"), message)
    }

    pub(super) fn model(model: &str) -> Self {
        let message = format!("the model {model:?} does not exist");
        Self::new(StatusCode::NOT_FOUND, Some("model_not_found"), message)
    }

    pub(super) fn no_such_page() -> Self {
        let message = "there is no such page: POST /v1/chat/completions, POST /v1/messages or GET /v1/models";
        Self::new(StatusCode::NOT_FOUND, None, message)
    }

    pub(super) fn wrong_method() -> Self {
        let message = "the method is wrong: POST /v1/chat/completions, POST /v1/messages or GET /v1/models";
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
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, Some("rate_limit_exceeded"), "too many requests");
        Problem { retry_after: Some(seconds), ..problem }
    }

    pub(super) fn internal(message: &str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, None, message)
    }

    pub(super) fn down() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, None, "the stand-in goes down (--down-after)")
    }

    /// As the API writes it.
    pub(super) fn response(self, api: Api) -> Response {
        let Problem { status, code, message, retry_after } = self;
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
        let mut response = (status, Json(body)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The document that answers a request; `id` is made of its hash.
pub(super) fn document(api: Api, request: &Request, answers: &[Answer], id: &str) -> Value {
    let (question, out) = (request.tokens(), answers.iter().map(|a| tokens(a.text.chars().count())).sum::<u64>());
    match api {
        Api::OpenAi => json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 0, "model": request.model,
            "choices": answers.iter().enumerate().map(|(k, a)| choice(request, a, k)).collect::<Vec<_>>(),
            "usage": { "prompt_tokens": question, "completion_tokens": out, "total_tokens": question + out },
        }),
        Api::Anthropic => {
            // This API gives one choice.
            let (content, reason) = answers.first().map_or((Vec::new(), "end_turn"), |a| blocks(request, a, id));
            json!({
                "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": request.model,
                "content": content, "stop_reason": reason, "stop_sequence": null,
                "usage": { "input_tokens": question, "output_tokens": out },
            })
        }
    }
}

fn tool(request: &Request) -> Option<&str> {
    request.form.as_ref().and_then(|form| form.tool.as_deref())
}

fn choice(request: &Request, answer: &Answer, k: usize) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
    let mut reason = match answer.finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Refused => "content_filter",
    };
    if answer.finish == Finish::Refused {
        message["content"] = Value::Null;
        // Where a form is asked for, a refusal has a field of its own and is a complete answer.
        if request.form.is_some() {
            message["refusal"] = answer.text.clone().into();
            reason = "stop";
        }
    }
    if let (Some(name), Some(_)) = (tool(request), &answer.input) {
        message["content"] = Value::Null;
        let function = json!({ "name": name, "arguments": answer.text });
        message["tool_calls"] = json!([{ "id": format!("call_{k}"), "type": "function", "function": function }]);
    }
    json!({ "index": k, "message": message, "logprobs": null, "finish_reason": reason })
}

fn blocks(request: &Request, answer: &Answer, id: &str) -> (Vec<Value>, &'static str) {
    let called = tool(request).zip(answer.input.as_ref());
    let content = match called {
        Some((name, input)) => {
            vec![json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input })]
        }
        None if answer.text.is_empty() => Vec::new(),
        None => vec![json!({ "type": "text", "text": answer.text })],
    };
    let reason = match answer.finish {
        Finish::Length => "max_tokens",
        Finish::Refused => "refusal",
        Finish::Stop if called.is_some() => "tool_use",
        Finish::Stop => "end_turn",
    };
    (content, reason)
}

/// A good answer that breaks off in the middle.
pub(super) fn broken(document: &Value) -> Response {
    let mut text = document.to_string();
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    text.truncate(half);
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
