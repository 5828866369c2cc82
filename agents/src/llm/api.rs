//! Wire formats of requests and replies: OpenAI chat completions, which most servers support, and Anthropic messages.

use ludex_protocol::call::{ChatMessage, ChatRole};
use serde_json::{Map, Value, json};

use super::batch::ItemOrigin;
use super::settings::{Api, CacheTokens, Settings, thinking_budget};

/// Request to a model.
pub(super) struct ChatRequest<'a> {
    pub(super) messages: &'a [ChatMessage],
    /// JSON schema of the reply, if JSON is requested.
    pub(super) schema: Option<Value>,
    /// Metadata that is sent to the stub model only.
    pub(super) metadata: Option<String>,
    pub(super) seed: Option<u64>,
    /// Origin of the request, for the batch interface.
    pub(super) origin: Option<ItemOrigin>,
}

/// Parsed reply of an endpoint.
pub(super) struct ChatReply {
    pub(super) answer: String,
    /// Reason why the reply ended, in OpenAI's terms: `stop`, `length` or `content_filter`.
    pub(super) finish: Option<String>,
    /// Numbers of input and output tokens, if reported.
    pub(super) tokens: Option<[u64; 2]>,
    /// Input tokens read from and written to the endpoint's cache.
    pub(super) cache: CacheTokens,
    /// Reasoning text that precedes the answer, if reported.
    pub(super) reasoning: Option<String>,
    /// Number of output tokens used for reasoning, if reported.
    pub(super) reasoning_tokens: Option<u64>,
}

/// Value of `finish` if the model or a content filter refused to reply.
pub(super) const FINISH_CONTENT_FILTER: &str = "content_filter";
/// Value of `finish` if the reply was truncated.
pub(super) const FINISH_LENGTH: &str = "length";

/// Default of `max_tokens` for Anthropic's API, where the field is mandatory.
const MAX_TOKENS: u64 = 8192;

impl Api {
    /// Returns the URL to which requests are sent.
    pub(super) fn url(self, base_url: &str) -> String {
        match self {
            Api::OpenAi => format!("{base_url}/chat/completions"),
            Api::Anthropic => format!("{base_url}/v1/messages"),
        }
    }

    /// Returns the HTTP headers, including the key if there is one.
    pub(super) fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut all = vec![("content-type", "application/json".to_owned())];
        match self {
            Api::OpenAi => all.extend(key.map(|key| ("authorization", format!("Bearer {key}")))),
            Api::Anthropic => {
                all.push(("anthropic-version", "2023-06-01".to_owned()));
                all.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
        }
        all
    }

    /// Returns the body of a request.
    pub(super) fn body(self, settings: &Settings, request: &ChatRequest<'_>) -> Value {
        let mut body = match self {
            Api::OpenAi => openai(settings, request),
            Api::Anthropic => anthropic(settings, request),
        };
        if let Some(t) = settings.temperature {
            body.insert("temperature".into(), t.into());
        }
        if let Some(text) = &request.metadata {
            body.insert("metadata".into(), json!({ "ludex": text }));
        }
        for (name, value) in &settings.extra {
            match value {
                Value::Null => body.remove(name),
                value => body.insert(name.clone(), value.clone()),
            };
        }
        body.into()
    }

    /// Parses a reply.
    ///
    /// # Errors
    /// The missing or invalid field.
    pub(super) fn read(self, body: &Value) -> Result<ChatReply, String> {
        match self {
            Api::OpenAi => read_openai(body),
            Api::Anthropic => read_anthropic(body),
        }
    }
}

fn openai(settings: &Settings, request: &ChatRequest<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    body.insert("messages".into(), json!(request.messages));
    if let Some(n) = settings.max_tokens {
        body.insert("max_tokens".into(), n.into());
    }
    if let Some(effort) = &settings.effort {
        body.insert("reasoning_effort".into(), effort.as_str().into());
    }
    if let Some(seed) = request.seed {
        body.insert("seed".into(), seed.into());
    }
    if let Some(schema) = &request.schema {
        // Strict schemas cannot describe games with free-form documents.
        let strict = schema["properties"].get("move").is_none_or(|mv| mv["type"] == "string");
        let (name, _) = form_name(schema);
        let form = json!({
            "type": "json_schema",
            "json_schema": { "name": name, "strict": strict, "schema": schema },
        });
        body.insert("response_format".into(), form);
    }
    body
}

fn anthropic(settings: &Settings, request: &ChatRequest<'_>) -> Map<String, Value> {
    let budget = settings.effort.as_deref().and_then(thinking_budget);
    let (system, said): (Vec<&ChatMessage>, Vec<&ChatMessage>) =
        request.messages.iter().partition(|m| m.role == ChatRole::System);
    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    let most = settings.max_tokens.unwrap_or(MAX_TOKENS + budget.unwrap_or(0));
    body.insert("max_tokens".into(), most.into());
    // Marks the constant parts for the cache: the system message and, in a conversation, all messages before the last.
    let mark = json!({ "type": "ephemeral" });
    let block = |text: &str| json!([{ "type": "text", "text": text, "cache_control": mark }]);
    if let Some(first) = system.first() {
        let text = first.content.as_str();
        body.insert("system".into(), if settings.cache { block(text) } else { text.into() });
    }
    let mut messages = json!(said);
    if let Some(before) = said.len().checked_sub(2).filter(|_| settings.cache) {
        messages[before]["content"] = block(&said[before].content);
    }
    body.insert("messages".into(), messages);
    if let Some(tokens) = budget {
        body.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": tokens }));
    }
    if let Some(schema) = &request.schema {
        let (name, about) = form_name(schema);
        let tool = json!({ "name": name, "description": about, "input_schema": schema });
        body.insert("tools".into(), json!([tool]));
        body.insert("tool_choice".into(), json!({ "type": "tool", "name": name }));
    }
    body
}

/// Returns the name and the description of a reply with this schema: a move, or labels.
fn form_name(schema: &Value) -> (&'static str, &'static str) {
    match schema["properties"].get("move") {
        Some(_) => ("move", "Makes your move."),
        None => ("labels", "Assigns the labels."),
    }
}

fn read_openai(body: &Value) -> Result<ChatReply, String> {
    let choice = body["choices"].get(0).ok_or("choices is missing")?;
    let message = choice.get("message").filter(|m| m.is_object()).ok_or("choices[0].message is missing")?;
    let answer = match &message["content"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
        _ => return Err("content is not text".into()),
    };
    let refusal = message["refusal"].as_str().filter(|r| !r.is_empty());
    let finish = match refusal {
        Some(_) => Some(FINISH_CONTENT_FILTER.to_owned()),
        None => choice["finish_reason"].as_str().map(str::to_owned),
    };
    let answer = if answer.is_empty() { refusal.unwrap_or_default().to_owned() } else { answer };
    let usage = &body["usage"];
    // DeepSeek, vLLM and Qwen use `reasoning_content`, OpenRouter and newer vLLM `reasoning`.
    let thought = ["reasoning_content", "reasoning"].iter().find_map(|name| message[*name].as_str());
    Ok(ChatReply {
        answer,
        finish,
        tokens: both(&usage["prompt_tokens"], &usage["completion_tokens"]),
        reasoning: thought.filter(|text| !text.trim().is_empty()).map(str::to_owned),
        reasoning_tokens: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
        // DeepSeek uses a different field.
        cache: CacheTokens {
            read: usage["prompt_tokens_details"]["cached_tokens"]
                .as_u64()
                .or_else(|| usage["prompt_cache_hit_tokens"].as_u64()),
            written: None,
        },
    })
}

fn read_anthropic(body: &Value) -> Result<ChatReply, String> {
    let blocks = body["content"].as_array().ok_or("content is missing")?;
    let tool = blocks.iter().find(|b| b["type"] == "tool_use").map(|b| b["input"].to_string());
    let text: String = blocks.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str()).collect();
    let thought: String =
        blocks.iter().filter(|b| b["type"] == "thinking").filter_map(|b| b["thinking"].as_str()).collect();
    let finish = body["stop_reason"].as_str().map(|reason| match reason {
        "end_turn" | "stop_sequence" | "tool_use" => "stop".to_owned(),
        "max_tokens" => FINISH_LENGTH.to_owned(),
        "refusal" => FINISH_CONTENT_FILTER.to_owned(),
        other => other.to_owned(),
    });
    let usage = &body["usage"];
    let cache = CacheTokens {
        read: usage["cache_read_input_tokens"].as_u64(),
        written: usage["cache_creation_input_tokens"].as_u64(),
    };
    // Anthropic's input token count excludes tokens read from or written to the cache.
    let cached = cache.read.unwrap_or(0).saturating_add(cache.written.unwrap_or(0));
    let tokens = both(&usage["input_tokens"], &usage["output_tokens"])
        .map(|[read, written]| [read.saturating_add(cached), written]);
    let reasoning = Some(thought).filter(|text| !text.trim().is_empty());
    // Anthropic does not report reasoning tokens separately.
    Ok(ChatReply { answer: tool.unwrap_or(text), finish, tokens, cache, reasoning, reasoning_tokens: None })
}

fn both(read: &Value, written: &Value) -> Option<[u64; 2]> {
    Some([read.as_u64()?, written.as_u64()?])
}

/// Estimates the number of tokens of a text as a quarter of its characters.
pub(super) fn estimate(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(args: &str) -> Settings {
        Settings::read(&crate::spec::AgentSpec::parse(&format!("llm model=m {args}")).unwrap()).unwrap()
    }

    #[test]
    fn shared_prompt_parts_are_marked_for_the_cache() {
        let said =
            [(ChatRole::System, "rules"), (ChatRole::User, "one"), (ChatRole::Assistant, "a"), (ChatRole::User, "two")];
        let messages = said.map(|(role, text)| ChatMessage::new(role, text));
        let body = |args: &str, messages: &[ChatMessage]| {
            let request = ChatRequest { messages, schema: None, metadata: None, seed: None, origin: None };
            let settings = settings(args);
            settings.api.body(&settings, &request)
        };
        let block = |text: &str| json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
        let marked = body("api=anthropic cache=true", &messages);
        assert_eq!(marked["system"], block("rules"));
        let content = |k: usize| marked["messages"][k]["content"].clone();
        assert_eq!([content(0), content(1), content(2)], [json!("one"), block("a"), json!("two")]);
        let first = body("api=anthropic cache=true", &messages[..2]);
        assert_eq!((&first["system"], &first["messages"][0]["content"]), (&block("rules"), &json!("one")));
        assert!(!body("api=anthropic", &messages).to_string().contains("cache_control"));
    }

    #[test]
    fn cached_tokens_are_counted_and_priced() {
        let openai = |usage: Value| {
            let body = json!({ "choices": [{ "message": { "content": "e4" } }], "usage": usage });
            read_openai(&body).unwrap()
        };
        let said = openai(json!({
            "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": { "cached_tokens": 60 },
        }));
        assert_eq!((said.tokens, said.cache), (Some([100, 10]), CacheTokens { read: Some(60), written: None }));
        let deepseek = openai(json!({ "prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4 }));
        assert_eq!(deepseek.cache.read, Some(4));
        let usage = json!({
            "input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30, "output_tokens": 10,
        });
        let said = read_anthropic(&json!({ "content": [{ "type": "text", "text": "e4" }], "usage": usage })).unwrap();
        assert_eq!((said.tokens, said.cache), (Some([100, 10]), CacheTokens { read: Some(60), written: Some(30) }));
        let usd = |args: &str| settings(args).usd(100, said.cache, 10);
        assert_eq!(usd("price_in=10 price_out=20 price_cached=1 price_cache_write=12"), Some(720.0 / 1e6));
        assert_eq!(
            usd("price_in=10 price_out=20"),
            Some(1200.0 / 1e6),
            "without cache prices, input tokens cost the same"
        );
        assert_eq!(usd(""), None);
    }

    #[test]
    fn reply_parser_reads_reasoning_and_its_tokens() {
        let openai = |message: Value| {
            let usage = json!({
                "prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": { "reasoning_tokens": 7 },
            });
            Api::OpenAi.read(&json!({ "choices": [{ "message": message }], "usage": usage })).unwrap()
        };
        for name in ["reasoning_content", "reasoning"] {
            let reply = openai(json!({ "content": "x", name: "hm" }));
            assert_eq!((reply.reasoning.as_deref(), reply.reasoning_tokens), (Some("hm"), Some(7)), "{name}");
            assert_eq!((reply.answer.as_str(), reply.tokens), ("x", Some([5, 9])));
        }
        assert_eq!(openai(json!({ "content": "x", "reasoning_content": "" })).reasoning, None);
        let blocks = json!([
            { "type": "thinking", "thinking": "h", "signature": "s" },
            { "type": "thinking", "thinking": "m" },
            { "type": "text", "text": "x" },
        ]);
        let reply = Api::Anthropic.read(&json!({ "content": blocks, "stop_reason": "end_turn" })).unwrap();
        assert_eq!((reply.reasoning.as_deref(), reply.answer.as_str()), (Some("hm"), "x"));
    }
}
