//! Replies as streams of server-sent events, in the form of both APIs.

use serde_json::{Value, json};

use super::Api;

/// Number of characters in a piece of text.
const PIECE: usize = 24;

/// Returns the events that stream a reply, from the reply's document.
pub(super) fn events(api: Api, document: &Value, with_usage: bool) -> String {
    match api {
        Api::OpenAi => {
            chunks(document, with_usage).iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>()
                + "data: [DONE]\n\n"
        }
        Api::Anthropic => steps(document)
            .iter()
            .map(|step| format!("event: {}\ndata: {step}\n\n", step["type"].as_str().unwrap_or_default()))
            .collect(),
    }
}

fn pieces(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

/// Returns the chunks of a chat completion.
fn chunks(document: &Value, with_usage: bool) -> Vec<Value> {
    let chunk = |choices: Value, usage: &Value| {
        json!({
            "id": document["id"], "object": "chat.completion.chunk", "created": document["created"],
            "model": document["model"], "choices": choices, "usage": usage,
        })
    };
    let mut out = Vec::new();
    for choice in document["choices"].as_array().into_iter().flatten() {
        let message = &choice["message"];
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        for name in ["content", "refusal"] {
            deltas.extend(message[name].as_str().into_iter().flat_map(pieces).map(|piece| json!({ name: piece })));
        }
        for (k, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let function = json!({ "name": call["function"]["name"], "arguments": "" });
            deltas.push(
                json!({ "tool_calls": [{ "index": k, "id": call["id"], "type": "function", "function": function }] }),
            );
            let arguments = pieces(call["function"]["arguments"].as_str().unwrap_or_default()).into_iter();
            deltas.extend(
                arguments.map(|piece| json!({ "tool_calls": [{ "index": k, "function": { "arguments": piece } }] })),
            );
        }
        let one = |delta: Value, reason: &Value| {
            chunk(
                json!([{ "index": choice["index"], "delta": delta, "logprobs": null, "finish_reason": reason }]),
                &Value::Null,
            )
        };
        out.extend(deltas.into_iter().map(|delta| one(delta, &Value::Null)));
        out.push(one(json!({}), &choice["finish_reason"]));
    }
    out.extend(with_usage.then(|| chunk(json!([]), &document["usage"])));
    out
}

/// Returns the events of a message of the messages API.
fn steps(document: &Value) -> Vec<Value> {
    let mut start = document.clone();
    (start["content"], start["stop_reason"]) = (json!([]), Value::Null);
    let mut out = vec![json!({ "type": "message_start", "message": start })];
    for (k, block) in document["content"].as_array().into_iter().flatten().enumerate() {
        let mut empty = block.clone();
        let (kind, field, text) = match block["type"].as_str() {
            Some("tool_use") => {
                empty["input"] = json!({});
                ("input_json_delta", "partial_json", block["input"].to_string())
            }
            _ => {
                empty["text"] = "".into();
                ("text_delta", "text", block["text"].as_str().unwrap_or_default().to_owned())
            }
        };
        out.push(json!({ "type": "content_block_start", "index": k, "content_block": empty }));
        let delta = |piece: String| json!({ "type": "content_block_delta", "index": k, "delta": { "type": kind, field: piece } });
        out.extend(pieces(&text).into_iter().map(delta));
        out.push(json!({ "type": "content_block_stop", "index": k }));
    }
    let delta = json!({ "stop_reason": document["stop_reason"], "stop_sequence": null });
    out.push(json!({ "type": "message_delta", "delta": delta, "usage": document["usage"] }));
    out.push(json!({ "type": "message_stop" }));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(events: &str) -> Vec<Value> {
        events.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
    }

    #[test]
    fn stream_of_chat_completion_has_the_same_text_and_calls() {
        let call = json!({ "id": "call_0", "type": "function", "function": { "name": "play", "arguments": "{\"move\": \"take 3 from pile 2\"}" } });
        let text = "I would keep what is safe: Zürich.\nAnswer: a1";
        let document = json!({
            "id": "chatcmpl-1", "created": 0, "model": "m", "usage": { "total_tokens": 3 },
            "choices": [
                { "index": 0, "message": { "content": text }, "finish_reason": "stop" },
                { "index": 1, "message": { "content": null, "tool_calls": [call] }, "finish_reason": "tool_calls" },
            ],
        });
        let events = events(Api::OpenAi, &document, true);
        assert!(events.ends_with("data: [DONE]\n\n"));
        let (mut content, mut arguments, mut reasons) = (String::new(), String::new(), Vec::new());
        for chunk in data(&events) {
            for choice in chunk["choices"].as_array().unwrap() {
                content += choice["delta"]["content"].as_str().unwrap_or_default();
                arguments += choice["delta"]["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default();
                reasons.extend(choice["finish_reason"].as_str().map(str::to_owned));
            }
        }
        assert_eq!((content.as_str(), reasons), (text, vec!["stop".to_owned(), "tool_calls".to_owned()]));
        assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({ "move": "take 3 from pile 2" }));
        assert_eq!(data(&events).last().unwrap()["usage"], json!({ "total_tokens": 3 }));
    }

    #[test]
    fn stream_of_message_has_the_same_blocks() {
        let document = json!({
            "id": "msg_1", "type": "message", "stop_reason": "tool_use", "usage": { "output_tokens": 3 },
            "content": [{ "type": "tool_use", "id": "t", "name": "play", "input": { "move": "a1" } }],
        });
        let all = data(&events(Api::Anthropic, &document, false));
        let kinds: Vec<&str> = all.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(all[2]["delta"]["partial_json"], "{\"move\":\"a1\"}");
        assert_eq!(all[4]["delta"]["stop_reason"], "tool_use");
    }
}
