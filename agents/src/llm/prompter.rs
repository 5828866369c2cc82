//! Prompts and the reader of answers without an endpoint, for hosts whose clients call the models themselves.

use ludex_env::{GameRef, MoveRequest, ParsedMove};
use ludex_protocol::call::ChatMessage;
use ludex_protocol::spec::Params;
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde_json::{Value, json};

use super::model::{NAME, read};
use super::parse_answer;
use super::position;
use super::prompting;
use super::prompts::{AnswerKind, Prompts, Task};
use super::settings::AnswerFormat;
use crate::error::AgentError;
use crate::parse_move::parse_move;
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

    /// Writes a reply with the move `mv` in the form that the prompts request. Returns `None` if the prompts request more
    /// than the move, such as reasoning, or if the reply would not be [read](Self::read) as this move.
    pub fn write(&self, ask: &MoveRequest<'_>, mv: &ParsedMove) -> Option<String> {
        if self.task.wants != AnswerKind::Move || self.prompts.wording.emotion {
            return None;
        }
        let (view, names) = (ask.view(), self.prompts.names.as_ref());
        let (field, submitted) = match mv {
            ParsedMove::Action(a) => (position::action_text(ask, &*view, names, *a).into(), Move::Id(i64::from(*a))),
            ParsedMove::Document(document) => (document.clone(), Move::Document(document.clone())),
        };
        let reply = match &field {
            field if self.schema => json!({ "move": field }).to_string(),
            Value::String(text) => format!("Answer: {text}"),
            field => format!("Answer: {field}"),
        };
        let read = parse_answer::read(ask, &*view, names, &reply, None);
        let means_move = read.ok() && parse_move(ask, &*view, &read.into_move()).ok() == Some(submitted);
        means_move.then_some(reply)
    }

    /// Returns the texts of the legal actions of `ask`, as prompts list them.
    pub fn legal(&self, ask: &MoveRequest<'_>) -> Vec<String> {
        let (view, names) = (ask.view(), self.prompts.names.as_ref());
        ask.legal.iter().map(|&a| position::action_text(ask, &*view, names, a)).collect()
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

#[cfg(test)]
mod tests {
    use ludex_env::{AgentKey, Stream};

    use super::*;

    fn prompter(settings: &str, game: &GameRef) -> Prompter {
        Prompter::from_settings(&serde_json::from_str(settings).unwrap(), game).unwrap()
    }

    #[test]
    fn written_replies_are_read_as_their_moves() {
        let settings = [r#"{"format": "text"}"#, "{}", r#"{"legal": false}"#];
        for entry in ludex_games::games() {
            let game = ludex_games::load(entry.info.id).unwrap();
            let (mut rng, mut written) = (Stream::from_text(entry.info.id), 0);
            for settings in settings {
                let (prompter, mut state) = (prompter(settings, &game), game.start());
                for _ in 0..4 {
                    while state.turn().seats().is_empty() && state.rollout(&mut rng, 1) > 0 {}
                    let Some(seat) = state.turn().seats().iter().next() else { break };
                    let legal = state.legal_list(seat);
                    let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Own(&[0; 32]));
                    let sampled = state
                        .sample(seat, &mut rng)
                        .and_then(|given| state.parse_move(seat, &Move::Document(given)).ok());
                    let a = (!legal.is_empty()).then(|| ParsedMove::Action(state.random_action(seat, &mut rng)));
                    for mv in a.into_iter().chain(sampled) {
                        let Some(reply) = prompter.write(&ask, &mv) else { continue };
                        let read = prompter.read(&ask, &reply);
                        assert_eq!((read.verdict, state.parse_move(seat, &read.mv)), ("ok", Ok(mv)), "{reply}");
                        written += 1;
                    }
                    state.rollout(&mut rng, 1);
                }
            }
            assert!(written > 0, "{}", entry.info.id);
        }
    }

    #[test]
    fn written_reply_has_the_form_that_the_prompt_requests() {
        let game = ludex_games::load("tic_tac_toe").unwrap();
        let (state, legal) = (game.start(), game.start().legal_list(0));
        let ask = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32]));
        let reply = |settings: &str| prompter(settings, &game).write(&ask, &ParsedMove::Action(4));
        assert_eq!(reply("{}").unwrap(), r#"{"move":"x(1,1)"}"#);
        assert_eq!(reply(r#"{"format": "text"}"#).unwrap(), "Answer: x(1,1)");
        assert_eq!(reply(r#"{"prompting": "cot"}"#), None);
        let renamed = prompter(r#"{"relabel": 3}"#, &game);
        assert_eq!(
            renamed.write(&ask, &ParsedMove::Action(0)).map(|reply| reply.contains(&renamed.legal(&ask)[0])),
            Some(true)
        );
        assert_ne!(renamed.legal(&ask), prompter("{}", &game).legal(&ask));
    }
}
