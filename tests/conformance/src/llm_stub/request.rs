//! Requests of both APIs.

use ludex_env::Action;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::error::StubError;

/// Maximum number of choices per request.
const MAX_CHOICES: u32 = 128;

/// Request of either API.
pub(super) struct StubRequest {
    pub(super) model: String,
    /// Texts of all messages; system messages first.
    texts: Vec<String>,
    /// Text of the last message of the user or a tool.
    pub(super) question: String,
    /// Number of requested choices.
    pub(super) n: usize,
    /// Maximum number of tokens in an answer.
    pub(super) limit: Option<u64>,
    /// True if the reply is a stream of events.
    pub(super) stream: bool,
    /// True if a stream ends with the token counts.
    pub(super) stream_usage: bool,
    /// Requested JSON form; plain text if absent.
    pub(super) form: Option<JsonForm>,
    /// Position, if the client includes it in the metadata.
    pub(super) about: Option<PositionMetadata>,
}

pub(super) struct JsonForm {
    pub(super) schema: Value,
    /// Tool that must be called with the JSON object as arguments. If `None`, the JSON object is the content of the
    /// message.
    pub(super) tool: Option<String>,
    /// True if the model may answer with text instead of calling the tool.
    pub(super) is_optional: bool,
}

/// Content of `metadata.ludex`: the move request as an agent receives it, without hidden information of other seats.
#[derive(Deserialize)]
pub(super) struct PositionMetadata {
    pub(super) game: String,
    pub(super) seat: usize,
    pub(super) turn: u32,
    pub(super) legal: Vec<Action>,
    pub(super) view: Value,
    /// Texts of the legal actions in the prompt, if they differ from the game's.
    #[serde(default)]
    pub(super) names: Vec<String>,
    pub(super) past: Option<Vec<PastMove>>,
    /// Purpose of the call; empty for a move.
    #[serde(default)]
    pub(super) purpose: String,
}

/// Move or chance outcome that the seat observed.
#[derive(Deserialize)]
pub(super) struct PastMove {
    pub(super) by: Option<usize>,
    pub(super) action: Option<Action>,
}

#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<Message>,
    system: Option<Content>,
    n: Option<u32>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<Value>,
    response_format: Option<Value>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "content: expected text or a list of parts with text")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    /// Result of a tool.
    content: Option<Content>,
}

impl Content {
    fn text(self) -> String {
        match self {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let text = |part: Part| part.content.map_or(part.text, Content::text);
                parts.into_iter().map(text).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl StubRequest {
    pub(super) fn read(api: Api, body: &[u8]) -> Result<Self, StubError> {
        let body: Body = serde_json::from_slice(body).map_err(|e| StubError::bad(format!("the body: {e}")))?;
        if body.messages.is_empty() {
            return Err(StubError::bad("messages: expected at least one message, got none"));
        }
        if body.model.starts_with("missing") {
            return Err(StubError::model(&body.model));
        }
        if api == Api::Anthropic && body.max_tokens.is_none() {
            return Err(StubError::bad("max_tokens: field required"));
        }
        let n = body.n.unwrap_or(1);
        if !(1..=MAX_CHOICES).contains(&n) || (api == Api::Anthropic && n > 1) {
            return Err(StubError::bad(format!("n: expected 1 to {MAX_CHOICES} (1 with /v1/messages), got {n}")));
        }
        let limit = body.max_completion_tokens.or(body.max_tokens);
        if limit == Some(0) {
            return Err(StubError::bad("max_tokens: expected at least 1, got 0"));
        }
        let form = form(api, &body)?;
        let (stream, options) = (body.stream, body.stream_options.as_ref());
        let stream_usage = options.is_some_and(|options| options["include_usage"] == true);
        let about = about(body.metadata.as_ref())?;
        let mut texts: Vec<String> = body.system.into_iter().map(Content::text).collect();
        let mut question = String::new();
        for (k, message) in body.messages.into_iter().enumerate() {
            let text = message.content.map(Content::text).unwrap_or_default();
            match (message.role.as_str(), api) {
                ("user", _) | ("tool", Api::OpenAi) => question.clone_from(&text),
                ("assistant", _) | ("system" | "developer", Api::OpenAi) => {}
                (role, _) => {
                    return Err(StubError::bad(format!("messages[{k}].role: unexpected {role:?}")));
                }
            }
            texts.push(text);
        }
        Ok(StubRequest { model: body.model, texts, question, n: n as usize, limit, stream, stream_usage, form, about })
    }

    /// Returns the number of tokens in the prompt, at four characters per token.
    pub(super) fn tokens(&self) -> u64 {
        tokens(self.texts.iter().map(|t| t.chars().count()).sum())
    }

    /// Returns the labels of the lines that the prompt requests (`Answer: <your move>`). Labels in the last message
    /// take precedence.
    pub(super) fn labels(&self) -> Vec<&str> {
        let in_text = |text| labels(text).collect::<Vec<_>>();
        let own = in_text(&self.question);
        if own.is_empty() {
            self.texts.iter().map(|t| in_text(t)).find(|l| !l.is_empty()).unwrap_or_default()
        } else {
            own
        }
    }

    /// Returns the purpose of the call; empty for a move.
    pub(super) fn purpose(&self) -> &str {
        self.about.as_ref().map_or("", |about| &about.purpose)
    }
}

/// Returns the labels that precede `: <` at the start of a line.
fn labels(text: &str) -> impl Iterator<Item = &str> {
    let label = |line: &'_ str| line.split_once(": <").map(|(label, _)| label.len());
    let found = text.lines().filter_map(move |line| label(line).map(|n| &line[..n]));
    found.filter(|label| label.starts_with(char::is_uppercase) && label.chars().all(char::is_alphabetic))
}

/// Converts a number of characters to a number of tokens.
pub(super) fn tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}

/// Returns the requested JSON form: a schema, any object, or a forced tool.
fn form(api: Api, body: &Body) -> Result<Option<JsonForm>, StubError> {
    let object = |schema: Value, tool: Option<&str>| {
        Ok(Some(JsonForm { schema, tool: tool.map(str::to_owned), is_optional: false }))
    };
    if let (Some(format), Api::OpenAi) = (&body.response_format, api) {
        return match format["type"].as_str() {
            Some("text") => Ok(None),
            Some("json_object") => {
                object(json!({ "properties": { "reason": { "type": "string" }, "move": { "type": "string" } } }), None)
            }
            Some("json_schema") if format["json_schema"]["schema"].is_object() => {
                object(format["json_schema"]["schema"].clone(), None)
            }
            Some("json_schema") => Err(StubError::bad("response_format.json_schema.schema: expected an object")),
            _ => Err(StubError::bad("response_format.type: expected text, json_object or json_schema")),
        };
    }
    let choice = body.tool_choice.as_ref().unwrap_or(&Value::Null);
    let tools = body.tools.as_deref().unwrap_or_default();
    // Both APIs either name one tool or allow any tool.
    let name_of = |tool: &Value| match api {
        Api::OpenAi => tool["function"]["name"].as_str().map(str::to_owned),
        Api::Anthropic => tool["name"].as_str().map(str::to_owned),
    };
    let wanted = match (api, choice) {
        (Api::OpenAi, Value::String(s)) if s == "required" => tools.first().and_then(name_of),
        (Api::Anthropic, choice) if choice["type"] == "any" => tools.first().and_then(name_of),
        (Api::OpenAi, Value::Object(_)) | (Api::Anthropic, Value::Object(_))
            if choice["type"] != "auto" && choice["type"] != "none" =>
        {
            name_of(choice)
        }
        (_, Value::String(s)) if s == "none" => return Ok(None),
        (_, choice) if choice["type"] == "none" => return Ok(None),
        // Models call a tool if they have one.
        _ => match tools.first() {
            Some(tool) => {
                let tool = JsonForm { schema: parameters(api, tool).clone(), tool: name_of(tool), is_optional: true };
                return Ok(Some(tool));
            }
            None => return Ok(None),
        },
    };
    let tool = tools.iter().find(|tool| wanted.is_some() && name_of(tool) == wanted);
    let Some(tool) = tool else {
        return Err(StubError::bad("tool_choice: expected a name from tools"));
    };
    object(parameters(api, tool).clone(), wanted.as_deref())
}

/// Returns the JSON Schema of a tool's arguments.
fn parameters(api: Api, tool: &Value) -> &Value {
    if api == Api::OpenAi { &tool["function"]["parameters"] } else { &tool["input_schema"] }
}

fn about(metadata: Option<&Value>) -> Result<Option<PositionMetadata>, StubError> {
    match metadata.and_then(|m| m.get("ludex")) {
        None => Ok(None),
        Some(Value::String(text)) => {
            serde_json::from_str(text).map(Some).map_err(|e| StubError::bad(format!("metadata.ludex: {e}")))
        }
        Some(_) => Err(StubError::bad("metadata.ludex: expected the JSON of the move request as one string")),
    }
}
