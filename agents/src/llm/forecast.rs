//! What a move will cost, before a model is asked: prompts are rendered as they would be sent, answers are guessed.

use ludex_env::{Ask, GameRef};

use super::api::estimate;
use super::model::{read, typical_out_tokens};
use super::prompting;
use super::prompts::{Prompts, Wants};
use super::settings::{Format, Method};
use crate::error::AgentError;
use crate::spec::AgentSpec;

/// What the calls of one move will use, if no answer is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Calls.
    pub calls: f64,
    /// Tokens read.
    pub tokens_in: f64,
    /// Tokens written.
    pub tokens_out: f64,
}

/// What the model of `spec` will use for this move. `answer` is the length of an answer in tokens, where it was measured; else
/// it is the guess of [`typical_out_tokens`].
///
/// Later calls of a move repeat the question and show answers to earlier ones, so their length follows from that of the
/// answers.
///
/// # Errors
/// A spec of another agent, or one that does not fit the game.
pub fn forecast(spec: &AgentSpec, game: &GameRef, ask: &Ask<'_>, answer: Option<f64>) -> Result<Forecast, AgentError> {
    let settings = read(spec)?;
    let prompts = Prompts::new(settings.wording.clone(), game)?;
    let task = prompting::first(&settings.wording);
    let schema = settings.format != Format::Text && task.wants != Wants::Words;
    let messages = prompts.messages(ask, &*ask.view(), &task, schema)?;
    let question = estimate(messages.iter().map(|m| m.content.chars().count()).sum()) as f64;
    let answer = answer.map_or_else(|| typical_out_tokens(spec), Ok)?;
    let calls = settings.calls() as f64;
    // How many earlier answers the calls of a move show, all together.
    let shown = match settings.wording.method {
        Method::Prompt | Method::Cot | Method::ScCot => 0.0,
        Method::SelfRefine => 3.0,
        Method::Tot => {
            let (width, votes) = (settings.width as f64, settings.votes as f64);
            // Each vote of both steps shows all candidates, each move the plan that was chosen.
            width + if settings.width > 1 { 2.0 * votes * width } else { 0.0 }
        }
    };
    Ok(Forecast { calls, tokens_in: calls * question + shown * answer, tokens_out: calls * answer })
}
