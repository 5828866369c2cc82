//! `llm`: a language model behind an endpoint, called for each move.
//!
//! The prompt contains only the game's manual and the seat's view. The reply is parsed in the game's own notation. Each
//! call of [`act`](Agent::act) is one attempt. A reply without a move is submitted as text, which the rules refuse; the
//! next attempt's prompt contains the reason. Transport failures (network, key, limits) are infrastructure errors and
//! do not lose the match.

mod api;
mod batch;
mod call;
mod chat;
mod endpoint;
mod forecast;
mod http;
mod judge;
mod limiter;
mod manual;
mod model;
mod parse_answer;
mod position;
mod probe;
mod prompt_preview;
mod prompter;
mod prompting;
mod prompts;
mod relabel;
mod settings;
mod templates;

use std::sync::Arc;

use ludex_env::draw::key;
use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;
use ludex_protocol::call::ChatMessage;
use ludex_protocol::record::Notes;

pub use forecast::{Forecast, forecast};
pub use judge::{Judge, JudgeAnswer, JudgeQuestion};
pub use model::typical_out_tokens;
pub use probe::{Probe, ProbeCall, hello, probe};
pub use prompt_preview::{ObservedState, PositionQuery, Prompt, Way, observe, prompt, resolve_path};
pub use prompter::{Prompter, Reading};

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentClass, AgentEntry, AgentSpec};
use call::MoveAttempt;
use endpoint::Endpoint;
use model::{Llm, NAME, read};
use prompts::Prompts;

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    NAME,
    "a language model behind an endpoint: OpenAI-compatible chat completions, or Anthropic's messages",
    build,
)
.class(AgentClass::Model)
.args(settings::ARGS);

/// Name of the note with the digest of a turn's model calls: the first 16 bytes of SHA-256 over the canonical JSON of
/// all calls, in hex.
pub const CALLS_DIGEST_NOTE: &str = "calls_sha256";

/// Version of the prompt texts, incremented whenever the text of a position, manual or template changes. Runs store the
/// version, so that prompts of an older version are not reported as forged.
pub const PROMPT_VERSION: u32 = 2;

/// Builds an agent that uses the stored calls of a model from a journal instead of new calls. `spec` is the spec of the
/// model. The agent never calls the endpoint and needs no key. A move request fails with kind `Failed` if a call is
/// missing or has a different prompt. It also fails if a call contains data that does not follow from the prompt and
/// the reply. Prompts are not compared if `wording` differs from [`PROMPT_VERSION`].
///
/// # Errors
/// A spec of another agent, or a game that the agent does not support.
pub fn offline(spec: &AgentSpec, game: &GameRef, wording: u32) -> Result<Arc<dyn Agent>, Refusal> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    Ok(Arc::new(Llm { endpoint: Endpoint::offline(settings, wording == PROMPT_VERSION), prompts }))
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(Llm::new(spec, game)?))
}

impl Agent for Llm {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let view = ask.view();
        let mut attempt = MoveAttempt::new(self, ask, &*view);
        let said = prompting::choose(&mut attempt)?;
        let reading = said.reading;
        let (verdict, mut emotion) = (reading.verdict, reading.emotion);
        if self.prompts.wording.emotion && emotion.is_none() && reading.ok() {
            emotion = attempt.emotion(&said.call.answer)?;
        }
        let wanted = self.prompts.wording.emotion;
        let notes = Notes {
            tokens: Some(attempt.tokens),
            emotion: emotion.filter(|_| wanted).map(String::from),
            analysis: reading.analysis.clone().filter(|_| wanted),
            ..Notes::default()
        };
        let answer = MoveReply { mv: Some(reading.into_move()), notes };
        // The digest binds prompts and replies to the record.
        let answer =
            answer.note("calls", attempt.calls).note("verdict", verdict).note(CALLS_DIGEST_NOTE, attempt.digest());
        Ok(match attempt.usd {
            Some(usd) => answer.note("usd", usd),
            None => answer,
        })
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn is_io_bound(&self) -> bool {
        true
    }

    fn needs_history(&self) -> bool {
        self.prompts.wording.history > 0 || self.endpoint.settings.stub
    }

    fn is_batched(&self) -> bool {
        self.endpoint.settings.batch.is_some()
    }
}

/// Renders the messages of the first call that the model of `spec` would make for `ask`. Does not call the endpoint.
/// The prompt requests JSON unless the spec contains `format=text`.
///
/// # Errors
/// A spec of another agent, or a game that the agent does not support.
pub fn render(spec: &AgentSpec, game: &GameRef, ask: &MoveRequest<'_>) -> Result<Vec<ChatMessage>, AgentError> {
    Prompter::new(spec, game)?.messages(ask)
}

/// Returns the hex digest of all prompt inputs of `spec` in `game` except the move request: templates, manual texts,
/// and the arguments that select among them. Equal digests mean equal prompts.
///
/// # Errors
/// Those of [`render`].
pub fn prompt_digest(spec: &AgentSpec, game: &GameRef) -> Result<String, Refusal> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    let counts = [settings.n, settings.width, settings.votes];
    let text = format!("{:?} {counts:?} {}\n{}", settings.format, game.spec().string, prompts.sources());
    Ok(hex::encode(key(&text)))
}

/// Returns the number of calls per move if no call fails: n for `sc_cot`, 12 for `tot` with default arguments, 3 for
/// `self_refine`, otherwise 1.
///
/// # Errors
/// Those of [`render`].
pub fn calls_per_move(spec: &AgentSpec) -> Result<f64, Refusal> {
    Ok(read(spec)?.calls() as f64)
}

/// Returns the cost of these tokens in USD; `None` if the spec has no prices. `cached` is the number of input tokens
/// read from the endpoint's cache.
///
/// # Errors
/// Those of [`render`].
pub fn usd(spec: &AgentSpec, tokens_in: u64, cached: u64, tokens_out: u64) -> Result<Option<f64>, Refusal> {
    let cache = settings::CacheTokens { read: Some(cached), written: None };
    Ok(read(spec)?.usd(tokens_in, cache, tokens_out))
}

/// Names of the price arguments.
const PRICES: [&str; 4] = ["price_in", "price_out", "price_cached", "price_cache_write"];

/// Returns the spec without prices. Specs of other agents are unchanged.
pub fn without_prices(spec: &AgentSpec) -> AgentSpec {
    if spec.class() != AgentClass::Model {
        return spec.clone();
    }
    PRICES.iter().fold(spec.clone(), |spec, price| spec.without(price))
}

/// Names of the arguments that affect transport and batching but not the prompts.
const WAYS: [&str; 9] =
    ["rpm", "concurrency", "timeout", "retries", "key_env", "batch", "batch_wait", "batch_size", "batch_poll"];

/// Returns the spec without its transport and batching arguments, which do not affect how the model plays. Specs of
/// other agents are unchanged.
pub fn without_transport_args(spec: &AgentSpec) -> AgentSpec {
    if spec.class() != AgentClass::Model {
        return spec.clone();
    }
    WAYS.iter().fold(spec.clone(), |spec, way| spec.without(way))
}

/// Returns true if the model of `spec` is called through the provider's batch interface.
pub fn uses_batching(spec: &AgentSpec) -> bool {
    read(spec).is_ok_and(|settings| settings.batch.is_some())
}

/// Returns the spec without its batch arguments, for trials that need immediate replies. Specs of other agents are
/// unchanged.
pub fn without_batching(spec: &AgentSpec) -> AgentSpec {
    if !uses_batching(spec) {
        return spec.clone();
    }
    settings::BATCH.iter().chain(&["batch"]).fold(spec.clone(), |spec, name| spec.without(name))
}

/// Returns the name of the model; `None` for other agents.
pub fn model_name(spec: &AgentSpec) -> Option<String> {
    let is_model = spec.class() == AgentClass::Model;
    read(spec).ok().filter(|_| is_model).map(|settings| settings.model)
}

/// Returns the name of the environment variable with the endpoint's API key, if the endpoint needs a key.
pub fn key_variable(spec: &AgentSpec) -> Option<String> {
    read(spec).ok()?.key_env
}
