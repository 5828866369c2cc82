//! Probe of an endpoint's capabilities by five calls.

use ludex_env::{Action, AgentKey, DynState, MoveRequest, Stream, Viewer};
use ludex_protocol::call::{Call, ChatMessage, ChatRole};
use ludex_protocol::record::Tokens;
use serde::Serialize;
use std::time::Instant;

use super::api::ChatRequest;
use super::endpoint::SendError;
use super::model::{Llm, read};
use super::prompts::{AnswerKind, Task};
use super::settings::AnswerFormat;
use super::{parse_answer, position, prompting};
use crate::error::AgentError;
use crate::spec::AgentSpec;

/// Name of the game in the test prompts.
const GAME: &str = "tic_tac_toe";
/// Length of the long prompt in characters, about 8000 tokens.
const LONG: usize = 32_000;
/// Action ids that lead to the positions of the two game prompts.
const POSITIONS: [&[Action]; 2] = [&[], &[4, 0]];

/// Measured capabilities of an endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    pub model: String,
    /// URL of the endpoint, without the path of a request.
    pub base_url: String,
    /// True if the endpoint supports a JSON schema or a forced tool call.
    pub schema: bool,
    /// True if the endpoint accepts a prompt of about 8000 tokens.
    pub context: bool,
    /// True if the reply to every game prompt contained a legal move (or reasoning, if the prompting method requests it
    /// first).
    pub moves: bool,
    /// Mean number of input tokens of a game prompt.
    pub tokens_in: f64,
    /// Mean number of output tokens of a game prompt.
    pub tokens_out: f64,
    /// Mean duration of a game prompt's call in seconds.
    pub seconds: f64,
    pub calls: Vec<ProbeCall>,
}

/// One call of a probe.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeCall {
    /// Capability under test: `endpoint`, `schema`, `context` or `move`.
    pub what: &'static str,
    /// True if the test passed.
    pub ok: bool,
    /// Reply of the model, or the error message.
    pub message: String,
    /// Duration in seconds, including failed tries.
    pub seconds: f64,
    /// Input and output tokens.
    pub tokens: Tokens,
}

/// Sends a short prompt to the endpoint of an `llm` spec, to test the connection, the key and the model name.
///
/// # Errors
/// A spec of another agent, an invalid spec, or a failed call; the error suggests a remedy.
pub fn hello(spec: &AgentSpec) -> Result<ProbeCall, AgentError> {
    read(spec)?;
    let game = ludex_games::load(GAME).map_err(|e| AgentError::infrastructure(e.to_string()))?;
    Ok(Llm::new(spec, &game)?.hello(&*game.start())?.into_probe_call(true))
}

/// Calls the endpoint of an `llm` spec five times. Tests the connection, JSON schemas, a long prompt, and two positions
/// of tic-tac-toe with the first prompt of the spec's prompting method.
///
/// # Errors
/// A spec of another agent, an invalid spec, or a failed first call, since the other calls would fail too.
pub fn probe(spec: &AgentSpec) -> Result<Probe, AgentError> {
    read(spec)?;
    let game = ludex_games::load(GAME).map_err(|e| AgentError::infrastructure(e.to_string()))?;
    let llm = Llm::new(spec, &game)?;
    let settings = &llm.endpoint.settings;
    let start = game.start();
    let mut calls = vec![llm.hello(&*start)?.into_probe_call(true)];

    let asks_json = Task { wants: AnswerKind::Move, ..prompting::first(&settings.wording) };
    let tried = llm.try_out("schema", &*start, |ask| {
        let messages = llm.prompts.messages(ask, &*ask.view(), &asks_json, true)?;
        Ok((messages, Some(llm.prompts.schema(AnswerKind::Move, None))))
    });
    calls.push(ProbeCall::of("schema", tried, |call| {
        serde_json::from_str::<serde_json::Value>(call.answer.trim()).is_ok()
    }));

    let padding = "This line is here to be long and says nothing else.\n";
    let long = format!("{}Answer with one word: ready", padding.repeat(LONG / padding.len()));
    let tried = llm.try_out("context", &*start, |_| Ok((vec![ChatMessage::new(ChatRole::User, long)], None)));
    calls.push(ProbeCall::of("context", tried, |_| true));

    let schema = calls[1].ok && settings.format != AnswerFormat::Text && !llm.endpoint.thinks_with_tools();
    let task = prompting::first(&settings.wording);
    let schema = schema && task.wants != AnswerKind::Words;
    for moves in POSITIONS {
        let mut state = game.start();
        moves.iter().for_each(|&a| state.play_unchecked(a));
        let tried = llm.try_out("move", &*state, |ask| {
            let messages = llm.prompts.messages(ask, &*ask.view(), &task, schema)?;
            Ok((messages, schema.then(|| llm.prompts.schema(task.wants, None))))
        });
        calls.push(ProbeCall::of("move", tried, |call| call.verdict == "ok"));
    }
    let real: Vec<&ProbeCall> = calls.iter().filter(|c| c.what == "move" && c.tokens.input > 0).collect();
    let mean = |of: &dyn Fn(&ProbeCall) -> f64| real.iter().map(|c| of(c)).sum::<f64>() / real.len().max(1) as f64;
    Ok(Probe {
        model: settings.model.clone(),
        base_url: settings.base_url.clone(),
        schema: calls[1].ok,
        context: calls[2].ok,
        moves: calls[3..].iter().all(|c| c.ok),
        tokens_in: mean(&|c| c.tokens.input as f64),
        tokens_out: mean(&|c| c.tokens.out as f64),
        seconds: mean(&|c| c.seconds),
        calls,
    })
}

struct TestCall {
    what: &'static str,
    call: Call,
    seconds: f64,
}

impl TestCall {
    fn into_probe_call(self, ok: bool) -> ProbeCall {
        let TestCall { what, call, seconds } = self;
        let empty = call.answer.trim().is_empty();
        let message = if empty { "the answer is empty".to_owned() } else { call.answer };
        ProbeCall { what, ok: ok && !empty, message, seconds, tokens: call.tokens }
    }
}

impl ProbeCall {
    fn of(what: &'static str, tried: Result<TestCall, AgentError>, ok: impl Fn(&Call) -> bool) -> Self {
        match tried {
            Ok(tried) => {
                let ok = ok(&tried.call);
                tried.into_probe_call(ok)
            }
            Err(e) => ProbeCall { what, ok: false, message: e.message, seconds: 0.0, tokens: Tokens::default() },
        }
    }
}

/// Messages of a call, and the schema of its reply.
type Prepared = (Vec<ChatMessage>, Option<serde_json::Value>);

impl Llm {
    fn hello(&self, start: &dyn DynState) -> Result<TestCall, AgentError> {
        self.try_out("endpoint", start, |_| {
            Ok((vec![ChatMessage::new(ChatRole::User, "Answer with one word: ready")], None))
        })
    }

    /// Makes one call for a position of the game.
    fn try_out(
        &self,
        what: &'static str,
        state: &dyn DynState,
        prepare: impl FnOnce(&MoveRequest<'_>) -> Result<Prepared, AgentError>,
    ) -> Result<TestCall, AgentError> {
        let seat = state.turn().seat().unwrap_or(0);
        let legal = state.legal_list(seat);
        let view = state.view(Viewer::Seat(seat));
        let key = [0; 32];
        let ask = MoveRequest::on_view(&*view, seat, 0, &legal, AgentKey::Own(&key));
        let (messages, schema) = prepare(&ask)?;
        let request = ChatRequest {
            messages: &messages,
            schema,
            // The greeting has no position.
            metadata: (self.endpoint.settings.stub && what != "endpoint")
                .then(|| position::metadata(&ask, &*view, "probe", self.prompts.names.as_ref())),
            seed: self.endpoint.settings.seed,
            // A probe is never batched.
            origin: None,
        };
        let begun = Instant::now();
        let mut rng = Stream::from_text("ludex.v1:probe");
        let sent = self.endpoint.send(&request, None, &mut rng).map_err(|failure| match failure {
            SendError::Agent(error) | SendError::Schema { error, .. } => error,
        })?;
        let mut call = self.endpoint.entry("probe", messages, sent);
        let words = prompting::first(&self.prompts.wording).wants == AnswerKind::Words;
        let reading =
            parse_answer::read(&ask, &*view, self.prompts.names.as_ref(), &call.answer, call.finish.as_deref());
        call.verdict = if words && !call.answer.trim().is_empty() { "ok" } else { reading.verdict }.to_owned();
        Ok(TestCall { what, call, seconds: begun.elapsed().as_secs_f64() })
    }
}
