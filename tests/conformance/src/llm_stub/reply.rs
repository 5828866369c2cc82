//! Replies in the form of both APIs.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::Api;
use super::answer::{Finish, StubAnswer};
use super::request::{StubRequest, tokens};

/// Returns the body of a reply; `id` derives from the request's hash.
pub(super) fn document(api: Api, request: &StubRequest, answers: &[StubAnswer], id: &str) -> Value {
    let (question, out) = (request.tokens(), answers.iter().map(|a| tokens(a.text.chars().count())).sum::<u64>());
    match api {
        Api::OpenAi => json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 0, "model": request.model,
            "choices": answers.iter().enumerate().map(|(k, a)| choice(request, a, k)).collect::<Vec<_>>(),
            "usage": { "prompt_tokens": question, "completion_tokens": out, "total_tokens": question + out },
        }),
        Api::Anthropic => {
            // The messages API has exactly one choice.
            let (content, reason) = answers.first().map_or((Vec::new(), "end_turn"), |a| blocks(request, a, id));
            json!({
                "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": request.model,
                "content": content, "stop_reason": reason, "stop_sequence": null,
                "usage": { "input_tokens": question, "output_tokens": out },
            })
        }
    }
}

fn tool(request: &StubRequest) -> Option<&str> {
    request.form.as_ref().and_then(|form| form.tool.as_deref())
}

fn choice(request: &StubRequest, answer: &StubAnswer, k: usize) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
    let mut reason = match answer.finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Refused => "content_filter",
    };
    if answer.finish == Finish::Refused {
        message["content"] = Value::Null;
        // If the request has a schema, a refusal is in a separate field, with the finish reason of a complete answer.
        if request.form.as_ref().is_some_and(|form| !form.is_optional) {
            message["refusal"] = answer.text.clone().into();
            reason = "stop";
        }
    }
    if let (Some(name), Some(_)) = (tool(request), &answer.input) {
        message["content"] = Value::Null;
        let function = json!({ "name": name, "arguments": answer.text });
        if request.form.as_ref().is_some_and(|form| form.is_optional) && answer.finish == Finish::Stop {
            reason = "tool_calls";
        }
        message["tool_calls"] = json!([{ "id": format!("call_{k}"), "type": "function", "function": function }]);
    }
    json!({ "index": k, "message": message, "logprobs": null, "finish_reason": reason })
}

fn blocks(request: &StubRequest, answer: &StubAnswer, id: &str) -> (Vec<Value>, &'static str) {
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

/// Returns the response with a body; if `damaged` is true, the body is truncated in the middle.
pub(super) fn response(mut text: String, is_stream: bool, damaged: bool) -> Response {
    if damaged {
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        text.truncate(half);
    }
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
