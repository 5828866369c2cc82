//! Prompts and the reader of answers without an endpoint, for hosts whose clients call the models themselves.

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::call::ChatMessage;
use ludex_protocol::spec::Params;
use ludex_protocol::{ErrorCode, Move, Refusal};

use super::model::{NAME, read};
use super::parse_answer;
use super::prompting;
use super::prompts::{AnswerKind, Prompts, Task};
use super::settings::AnswerFormat;
use crate::error::AgentError;
use crate::spec::AgentSpec;

/// Arguments of `llm` that select the wording of prompts.
const SETTINGS: [&str; 11] =
    ["prompting", "history", "legal", "format", "rules", "hints", "wording", "variant", "template", "swap", "relabel"];

/// Prompts of a language model for one game, and the reader of its answers. Calls no endpoint.
pub struct Prompter {
    prompts: Prompts,
    /// Task of the first call of a move.
    task: Task,
    /// True if prompts request JSON.
    schema: bool,
}

/// Answer of a language model, as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Verdict: `ok`, `illegal`, `unparsed` or `empty`.
    pub verdict: &'static str,
    /// The move or, unless the verdict is `ok`, the input that the rules refuse.
    pub mv: Move,
    /// Text of the move in the game's notation, if the verdict is `ok`.
    pub text: Option<String>,
}

impl Prompter {
    /// Prepares the prompts of the `llm` agent `spec`.
    ///
    /// # Errors
    /// A spec of another agent, or a game that the agent does not support.
    pub fn new(spec: &AgentSpec, game: &GameRef) -> Result<Self, Refusal> {
        let settings = read(spec)?;
        let prompts = Prompts::new(settings.wording.clone(), game)?;
        let task = prompting::first(&settings.wording);
        let schema = settings.format != AnswerFormat::Text && task.wants != AnswerKind::Words;
        Ok(Prompter { prompts, task, schema })
    }

    /// Prepares prompts with `settings`: arguments of `llm` that select the wording, by name.
    ///
    /// # Errors
    /// `bad_field` with the path `prompt.NAME`: an unknown setting, a value that it does not accept, or a method whose
    /// first reply is not a move.
    pub fn from_settings(settings: &Params, game: &GameRef) -> Result<Self, Refusal> {
        let bad = |e: Refusal, name: Option<&str>| {
            let path = name.or(e.path.as_deref()).map_or_else(|| "prompt".to_owned(), |name| format!("prompt.{name}"));
            Refusal { code: ErrorCode::BadField, path: Some(path.into()), ..e }
        };
        let mut spec = AgentSpec::parse(&format!("{NAME} model=none")).map_err(|e| bad(e, None))?;
        for (name, value) in settings {
            if !SETTINGS.contains(&name.as_str()) {
                let message = format!("expected a setting of prompts, got {name:?}; allowed: {}", SETTINGS.join(", "));
                return Err(bad(Refusal::new(ErrorCode::BadField, message).allowed(SETTINGS.to_vec()), Some(name)));
            }
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            spec = spec.set(name, &text).map_err(|e| bad(e, Some(name)))?;
        }
        let prompter = Prompter::new(&spec, game).map_err(|e| bad(e, None))?;
        if prompter.task.wants == AnswerKind::Words {
            let message = "prompting: expected a method whose first reply is a move, got tot; \
                           allowed: prompt, cot, parts, chat, sc_cot, self_refine";
            return Err(bad(Refusal::new(ErrorCode::BadField, message), Some("prompting")));
        }
        Ok(prompter)
    }

    /// Returns true if prompts list the last moves, so that [`MoveRequest::with_history`] is needed.
    pub fn needs_history(&self) -> bool {
        self.prompts.wording.history > 0
    }

    /// Returns the messages of the first call for `ask`.
    ///
    /// # Errors
    /// A template that cannot be rendered.
    pub fn messages(&self, ask: &MoveRequest<'_>) -> Result<Vec<ChatMessage>, AgentError> {
        self.prompts.messages(ask, &*ask.view(), &self.task, self.schema)
    }

    /// Reads an answer to `ask`.
    pub fn read(&self, ask: &MoveRequest<'_>, answer: &str) -> Reading {
        let parsed = parse_answer::read(ask, &*ask.view(), self.prompts.names.as_ref(), answer, None);
        let (verdict, text) = (parsed.verdict, parsed.read.clone());
        Reading { verdict, mv: parsed.into_move(), text }
    }

    /// Returns the words of the next prompt about the refused answers of `ask`; empty without refused answers.
    ///
    /// # Errors
    /// A template that cannot be rendered.
    pub fn refusals(&self, ask: &MoveRequest<'_>) -> Result<String, AgentError> {
        let view = ask.view();
        let whole = self.prompts.question(ask, &*view)?;
        let before = self.prompts.question(&ask.with_attempts(&[]), &*view)?;
        Ok(whole.strip_prefix(&before).unwrap_or(&whole).trim().to_owned())
    }
}
