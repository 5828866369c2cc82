//! Cost forecast of a move without calling the model. Prompts are rendered; reply lengths are estimated.

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::call::{ChatMessage, ChatRole};

use super::api::estimate;
use super::model::{read, typical_out_tokens};
use super::prompting;
use super::prompts::{AnswerKind, Prompts};
use super::settings::{AnswerFormat, Method};
use crate::error::AgentError;
use crate::spec::AgentSpec;

/// Expected usage of one move if no reply is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    pub calls: f64,
    pub tokens_in: f64,
    /// Number of input tokens expected to be in the endpoint's cache from the previous prompt.
    pub tokens_cached: f64,
    pub tokens_out: f64,
    /// Cost in US dollars, if the spec has prices.
    pub usd: Option<f64>,
}

/// Minimum length in tokens of a prompt prefix that endpoints cache (OpenAI, and most of Anthropic's models).
const KEPT_FROM: f64 = 1024.0;

/// Forecasts the usage of one move. `answer` is a measured reply length in tokens; the default is
/// [`typical_out_tokens`].
///
/// Later calls of a move repeat the prompt and include earlier replies, so the length of their prompts depends on the
/// reply length.
///
/// # Errors
/// A spec of another agent, or a game that the agent does not support.
pub fn forecast(
    spec: &AgentSpec,
    game: &GameRef,
    ask: &MoveRequest<'_>,
    answer: Option<f64>,
) -> Result<Forecast, AgentError> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    let task = prompting::first(&settings.wording);
    let schema = settings.format != AnswerFormat::Text && task.wants != AnswerKind::Words;
    let messages = prompts.messages(ask, &*ask.view(), &task, schema)?;
    let length = |of: &dyn Fn(&&ChatMessage) -> bool| {
        estimate(messages.iter().filter(of).map(|m| m.content.chars().count()).sum()) as f64
    };
    // A conversation repeats its earlier prompts. They are about as long as this prompt.
    let earlier = settings.wording.memory.map_or(0.0, |most| most.min(ask.turn as usize) as f64);
    let question = length(&|_| true) + earlier * length(&|m| m.role == ChatRole::User);
    let answer = answer.map_or_else(|| typical_out_tokens(spec), Ok)?;
    let calls = settings.calls() as f64;
    // Total number of earlier replies included in the calls of a move.
    let shown = match settings.wording.method {
        Method::Prompt | Method::Cot | Method::ScCot | Method::Parts => 0.0,
        Method::Chat => earlier,
        Method::SelfRefine => 3.0,
        Method::Tot => {
            let (width, votes) = (settings.width as f64, settings.votes as f64);
            // Each vote of both steps includes all candidates. Each call for a move includes the chosen plan.
            width + if settings.width > 1 { 2.0 * votes * width } else { 0.0 }
        }
    };
    let (tokens_in, tokens_out) = (calls * question + shown * answer, calls * answer);
    // Prefix shared with the previous prompt: the system message and the conversation so far.
    let common = length(&|m| m.role == ChatRole::System)
        + (question - length(&|_| true))
        + if earlier > 0.0 { shown * answer } else { 0.0 };
    let counts = settings.price.is_some_and(|price| price.cached != price.input);
    let again = if ask.turn == 0 { calls - 1.0 } else { calls };
    let tokens_cached = if counts && common >= KEPT_FROM { again * common } else { 0.0 };
    let usd = settings.price.map(|price| {
        ((tokens_in - tokens_cached) * price.input + tokens_cached * price.cached + tokens_out * price.out) / 1e6
    });
    Ok(Forecast { calls, tokens_in, tokens_cached, tokens_out, usd })
}
