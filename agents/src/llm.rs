//! `llm`: a language model behind an endpoint, asked move by move.
//!
//! A question becomes a prompt made from the game's page and the seat's view alone; the answer is read by the game's own
//! notation. One [`act`](Agent::act) is one attempt: an answer without a move goes to the rules as text, they refuse it, and
//! the next attempt shows why. What goes wrong on the way to the model (network, key, limits) is nobody's loss.

mod api;
mod batch;
mod call;
mod chat;
mod endpoint;
mod forecast;
mod http;
mod limiter;
mod manual;
mod model;
mod parse_answer;
mod position;
mod probe;
mod prompt_preview;
mod prompting;
mod prompts;
mod settings;
mod templates;

use std::sync::Arc;
use std::time::Instant;

use ludex_env::draw::key;
use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;
use ludex_protocol::record::Notes;

pub use api::{ChatMessage, ChatRole};
pub use call::Call;
pub use forecast::{Forecast, forecast};
pub use model::typical_out_tokens;
pub use probe::{Probe, ProbeCall, hello, probe};
pub use prompt_preview::{PositionQuery, Prompt, Way, prompt, resolve_path};

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentClass, AgentEntry, AgentSpec};
use call::MoveAttempt;
use endpoint::Endpoint;
use model::{Llm, NAME, read};
use prompts::{Prompts, Wants};
use settings::Format;

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    NAME,
    "a language model behind an endpoint: OpenAI-compatible chat completions, or Anthropic's messages",
    build,
)
.class(AgentClass::Model)
.args(settings::ARGS);

/// The note that holds the digest of a turn's calls: the first 16 bytes of SHA-256 over the canonical JSON of each, in hex.
pub const DIGEST: &str = "calls_sha256";

/// The version of how prompts are worded: raised when a position, a manual or a template is told in other words. Runs keep it,
/// so that prompts of an older wording are not taken for forged ones.
pub const WORDING: u32 = 2;

/// The model of `spec` as a reader of its own journal: it answers with the calls that the journal keeps, and never calls out. It
/// needs no key. A call that is missing, that was asked something else, or that says something of itself that does not
/// follow from the question and the answer, is an error of kind `Failed` with the reason. Calls of another [`WORDING`] than
/// `wording` are not compared with what would be asked now.
///
/// # Errors
/// A spec of another agent, or one that does not fit the game.
pub fn offline(spec: &AgentSpec, game: &GameRef, wording: u32) -> Result<Arc<dyn Agent>, Refusal> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    Ok(Arc::new(Llm { endpoint: Endpoint::offline(settings, wording == WORDING), prompts }))
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(Llm::new(spec, game)?))
}

impl Agent for Llm {
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        let view = ask.view();
        let mut asking = MoveAttempt::new(self, ask, &*view, deadline);
        let said = prompting::choose(&mut asking)?;
        let reading = said.reading;
        let (verdict, mut emotion) = (reading.verdict, reading.emotion);
        if self.prompts.wording.emotion && emotion.is_none() && reading.ok() {
            emotion = asking.emotion(&said.call.answer)?;
        }
        let wanted = self.prompts.wording.emotion;
        let notes = Notes {
            tokens: Some(asking.tokens),
            emotion: emotion.filter(|_| wanted).map(String::from),
            analysis: reading.analysis.clone().filter(|_| wanted),
            ..Notes::default()
        };
        let answer = MoveReply { mv: Some(reading.into_move()), notes };
        // The digest binds what was asked and answered to the record.
        let answer = answer.note("calls", asking.calls).note("verdict", verdict).note(DIGEST, asking.digest());
        Ok(match asking.usd {
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

/// The messages of the first call that `spec` would make on `ask`, for estimates that call nothing. JSON is asked for
/// unless the spec says `format=text`.
///
/// # Errors
/// A spec of another agent, or one that does not fit the game.
pub fn render(spec: &AgentSpec, game: &GameRef, ask: &MoveRequest<'_>) -> Result<Vec<ChatMessage>, AgentError> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    let task = prompting::first(&settings.wording);
    prompts.messages(ask, &*ask.view(), &task, settings.format != Format::Text && task.wants != Wants::Words)
}

/// Hex digest of everything that prompts of `spec` in `game` are made from but the question itself: templates, the parts
/// of the page, and the arguments that choose among them. Equal digests mean the same prompts.
///
/// # Errors
/// As [`render`].
pub fn prompt_digest(spec: &AgentSpec, game: &GameRef) -> Result<String, Refusal> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    let counts = [settings.n, settings.width, settings.votes];
    let text = format!("{:?} {counts:?} {}\n{}", settings.format, game.spec().string, prompts.sources());
    Ok(hex::encode(key(&text)))
}

/// How many calls a move takes when nothing goes wrong: 1, n of `sc_cot`, 12 of `tot` by default, 3 of `self_refine`.
///
/// # Errors
/// As [`render`].
pub fn calls_per_move(spec: &AgentSpec) -> Result<f64, Refusal> {
    Ok(read(spec)?.calls() as f64)
}

/// What a token count costs in USD under the spec's prices; `None` where it names none. `cached` are those of the tokens read that
/// came from the endpoint's cache.
///
/// # Errors
/// As [`render`].
pub fn usd(spec: &AgentSpec, tokens_in: u64, cached: u64, tokens_out: u64) -> Result<Option<f64>, Refusal> {
    let cache = settings::Cached { read: Some(cached), written: None };
    Ok(read(spec)?.usd(tokens_in, cache, tokens_out))
}

/// The arguments that are prices.
const PRICES: [&str; 4] = ["price_in", "price_out", "price_cached", "price_cache_write"];

/// The spec without its prices. Any other agent's spec as it is.
pub fn unpriced(spec: &AgentSpec) -> AgentSpec {
    if spec.class() != AgentClass::Model {
        return spec.clone();
    }
    PRICES.iter().fold(spec.clone(), |spec, price| spec.without(price))
}

/// Arguments that say how calls are made, and not what is asked.
const WAYS: [&str; 9] =
    ["rpm", "concurrency", "timeout", "retries", "key_env", "batch", "batch_wait", "batch_size", "batch_poll"];

/// The spec without the arguments that say how calls are made: they may change, and it is the same player. Any other agent's spec
/// as it is.
pub fn essence(spec: &AgentSpec) -> AgentSpec {
    if spec.class() != AgentClass::Model {
        return spec.clone();
    }
    WAYS.iter().fold(spec.clone(), |spec, way| spec.without(way))
}

/// Whether the model of a spec is asked through the provider's batch interface.
pub fn batches(spec: &AgentSpec) -> bool {
    read(spec).is_ok_and(|settings| settings.batch.is_some())
}

/// The spec with each question as a call of its own, for trials that cannot wait for batches. Any other agent's spec as it is.
pub fn unbatched(spec: &AgentSpec) -> AgentSpec {
    if !batches(spec) {
        return spec.clone();
    }
    settings::BATCH.iter().chain(&["batch"]).fold(spec.clone(), |spec, name| spec.without(name))
}

/// The environment variable that holds the key of a spec's endpoint, if it needs one.
pub fn key_variable(spec: &AgentSpec) -> Option<String> {
    read(spec).ok()?.key_env
}
