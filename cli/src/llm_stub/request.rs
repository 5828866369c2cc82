//! Requests, read from the bodies of both APIs.

use ludex_env::Action;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::problem::Problem;

/// Most choices of one request.
const CHOICES: u32 = 128;

/// One request of either API.
pub(super) struct Request {
    pub(super) model: String,
    /// The texts of all messages, the system's first.
    texts: Vec<String>,
    /// The text of the last message of the user.
    pub(super) question: String,
    /// Choices wanted.
    pub(super) n: usize,
    /// Most tokens of an answer.
    pub(super) limit: Option<u64>,
    /// The form of the answer, unless it is plain text.
    pub(super) form: Option<Form>,
    /// The position, where the client tells it.
    pub(super) about: Option<About>,
}

/// An answer as an object of JSON.
pub(super) struct Form {
    pub(super) schema: Value,
    /// The name of the tool that takes it; without, it stands in the content.
    pub(super) tool: Option<String>,
}

/// What `metadata.ludex` says: the question as an agent gets it, without anything hidden.
#[derive(Deserialize)]
pub(super) struct About {
    pub(super) game: String,
    pub(super) seat: usize,
    pub(super) turn: u32,
    pub(super) legal: Vec<Action>,
    pub(super) view: Value,
    pub(super) past: Option<Vec<Step>>,
    /// What the call is for; a move, if it is not said.
    #[serde(default)]
    pub(super) purpose: String,
}

/// A move or an outcome of chance that the seat has seen.
#[derive(Deserialize)]
pub(super) struct Step {
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
#[serde(untagged, expecting = "content is text, or a list of parts with text")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    fn text(self) -> String {
        match self {
            Content::Text(text) => text,
            Content::Parts(parts) => parts.into_iter().map(|p| p.text).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Request {
    /// Reads a body.
    pub(super) fn read(api: Api, body: &[u8]) -> Result<Self, Problem> {
        let body: Body = serde_json::from_slice(body).map_err(|e| Problem::bad(format!("the body: {e}")))?;
        if body.messages.is_empty() {
            return Err(Problem::bad("messages: at least one is needed"));
        }
        if body.model.starts_with("missing") {
            return Err(Problem::model(&body.model));
        }
        if body.stream {
            return Err(Problem::bad("stream: the stand-in answers in one piece; leave it out"));
        }
        if api == Api::Anthropic && body.max_tokens.is_none() {
            return Err(Problem::bad("max_tokens: field required"));
        }
        let n = body.n.unwrap_or(1);
        if !(1..=CHOICES).contains(&n) || (api == Api::Anthropic && n > 1) {
            return Err(Problem::bad(format!(
                "n: {n} choices are not possible; 1 to {CHOICES} are, and only 1 with /v1/messages"
            )));
        }
        let limit = body.max_completion_tokens.or(body.max_tokens);
        if limit == Some(0) {
            return Err(Problem::bad("max_tokens: must be at least 1"));
        }
        let form = form(api, &body)?;
        let about = about(body.metadata.as_ref())?;
        let mut texts: Vec<String> = body.system.into_iter().map(Content::text).collect();
        let mut question = String::new();
        for (k, message) in body.messages.into_iter().enumerate() {
            let text = message.content.map(Content::text).unwrap_or_default();
            match (message.role.as_str(), api) {
                ("user", _) => question.clone_from(&text),
                ("assistant", _) | ("system" | "developer" | "tool", Api::OpenAi) => {}
                (role, _) => {
                    return Err(Problem::bad(format!("messages[{k}].role: {role:?} is not a valid role here")));
                }
            }
            texts.push(text);
        }
        Ok(Request { model: body.model, texts, question, n: n as usize, limit, form, about })
    }

    /// Tokens of the question, four characters each.
    pub(super) fn tokens(&self) -> u64 {
        tokens(self.texts.iter().map(|t| t.chars().count()).sum())
    }

    /// The labels of the lines that the prompt asks for (`Answer: <your move>`), those of the last message before any other.
    pub(super) fn labels(&self) -> Vec<&str> {
        let in_text = |text| labels(text).collect::<Vec<_>>();
        let own = in_text(&self.question);
        if own.is_empty() {
            self.texts.iter().map(|t| in_text(t)).find(|l| !l.is_empty()).unwrap_or_default()
        } else {
            own
        }
    }

    /// What the call is for.
    pub(super) fn purpose(&self) -> &str {
        self.about.as_ref().map_or("", |about| &about.purpose)
    }
}

/// The words before `: <` at the beginning of lines.
fn labels(text: &str) -> impl Iterator<Item = &str> {
    let label = |line: &'_ str| line.split_once(": <").map(|(label, _)| label.len());
    let found = text.lines().filter_map(move |line| label(line).map(|n| &line[..n]));
    found.filter(|label| label.starts_with(char::is_uppercase) && label.chars().all(char::is_alphabetic))
}

/// The tokens of a text with this many characters.
pub(super) fn tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}

/// The form that a request asks for: a schema, any object, or a tool that must be called.
fn form(api: Api, body: &Body) -> Result<Option<Form>, Problem> {
    let object = |schema: Value, tool: Option<&str>| Ok(Some(Form { schema, tool: tool.map(str::to_owned) }));
    if let (Some(format), Api::OpenAi) = (&body.response_format, api) {
        return match format["type"].as_str() {
            Some("text") => Ok(None),
            Some("json_object") => {
                object(json!({ "properties": { "reason": { "type": "string" }, "move": { "type": "string" } } }), None)
            }
            Some("json_schema") if format["json_schema"]["schema"].is_object() => {
                object(format["json_schema"]["schema"].clone(), None)
            }
            Some("json_schema") => Err(Problem::bad("response_format.json_schema.schema: an object is needed")),
            _ => Err(Problem::bad("response_format.type: text, json_object or json_schema")),
        };
    }
    let choice = body.tool_choice.as_ref().unwrap_or(&Value::Null);
    let tools = body.tools.as_deref().unwrap_or_default();
    // Both APIs say the same in other words: a tool by its name, or whichever.
    let name_of = |tool: &Value| match api {
        Api::OpenAi => tool["function"]["name"].as_str().map(str::to_owned),
        Api::Anthropic => tool["name"].as_str().map(str::to_owned),
    };
    let wanted = match (api, choice) {
        (Api::OpenAi, Value::String(s)) if s == "required" => tools.first().and_then(name_of),
        (Api::Anthropic, choice) if choice["type"] == "any" => tools.first().and_then(name_of),
        (Api::OpenAi, Value::Object(_)) | (Api::Anthropic, Value::Object(_)) if choice["type"] != "auto" => {
            name_of(choice)
        }
        _ => return Ok(None),
    };
    let tool = tools.iter().find(|tool| wanted.is_some() && name_of(tool) == wanted);
    let Some(tool) = tool else {
        return Err(Problem::bad("tool_choice: tools has no such tool"));
    };
    let schema = if api == Api::OpenAi { &tool["function"]["parameters"] } else { &tool["input_schema"] };
    object(schema.clone(), wanted.as_deref())
}

fn about(metadata: Option<&Value>) -> Result<Option<About>, Problem> {
    match metadata.and_then(|m| m.get("ludex")) {
        None => Ok(None),
        Some(Value::String(text)) => {
            serde_json::from_str(text).map(Some).map_err(|e| Problem::bad(format!("metadata.ludex: {e}")))
        }
        Some(_) => Err(Problem::bad("metadata.ludex: the JSON of the question, as one string")),
    }
}
