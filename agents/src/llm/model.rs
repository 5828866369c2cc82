//! A language model that plays one game: its endpoint and its prompts.

use ludex_env::GameRef;
use ludex_protocol::Refusal;

use super::endpoint::Endpoint;
use super::prompts::Prompts;
use super::settings::{Api, Method, Settings};
use crate::refusal::bad_spec;
use crate::spec::AgentSpec;

/// The name that specs of language models begin with.
pub(super) const NAME: &str = "llm";

/// A model with its prompts for one game.
pub(super) struct Llm {
    pub(super) endpoint: Endpoint,
    pub(super) prompts: Prompts,
}

impl Llm {
    pub(super) fn new(spec: &AgentSpec, game: &GameRef) -> Result<Self, Refusal> {
        let settings = Settings::read(spec)?;
        let prompts = Prompts::new(settings.wording.clone(), game)?;
        Ok(Llm { endpoint: Endpoint::new(settings)?, prompts })
    }

    /// Anthropic's API does not let a model think and force it to call a tool.
    pub(super) fn thinks_with_tools(&self) -> bool {
        self.endpoint.settings.api == Api::Anthropic && self.endpoint.settings.effort.is_some()
    }
}

/// The settings of a spec of this agent.
///
/// # Errors
/// Another agent, or arguments that do not go together.
pub(super) fn read(spec: &AgentSpec) -> Result<Settings, Refusal> {
    if spec.name() != NAME {
        return Err(bad_spec(format!("{spec} is not a language model: such a spec begins with llm")));
    }
    Settings::read(spec)
}

/// A guess at the tokens that a model writes in one call, for estimates until something is measured. It does not come
/// from measurements. Models that think (`effort`) are guessed at ten times as much.
///
/// # Errors
/// A spec of another agent, or one that is at fault.
pub fn typical_out_tokens(spec: &AgentSpec) -> Result<f64, Refusal> {
    let settings = read(spec)?;
    let plain = match settings.wording.method {
        Method::Prompt => 20.0,
        Method::Cot | Method::ScCot | Method::Parts | Method::Chat => 300.0,
        Method::Tot => 150.0,
        Method::SelfRefine => 200.0,
    };
    // A letter, and why.
    let plain = plain + if settings.wording.emotion { 40.0 } else { 0.0 };
    let guess = plain * if settings.effort.is_some() { 10.0 } else { 1.0 };
    Ok(settings.max_tokens.map_or(guess, |most| guess.min(most as f64)))
}
