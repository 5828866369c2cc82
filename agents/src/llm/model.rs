//! Language model that plays one game: an endpoint with prompts.

use ludex_env::GameRef;
use ludex_protocol::Refusal;

use super::endpoint::Endpoint;
use super::prompts::Prompts;
use super::settings::{Method, Settings};
use crate::refusal::bad_spec;
use crate::spec::AgentSpec;

/// Name of the agent in specs.
pub(super) const NAME: &str = "llm";

/// Language model with the prompts for one game.
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
}

/// Parses the settings of a spec.
///
/// # Errors
/// A spec of another agent, or conflicting arguments.
pub(super) fn read(spec: &AgentSpec) -> Result<Settings, Refusal> {
    if spec.name() != NAME {
        return Err(bad_spec(format!("expected a spec of llm, got {spec}")));
    }
    Settings::read(spec)
}

/// Guesses the number of output tokens of one call, for estimates without measurements. If the spec contains `effort`,
/// the estimate is ten times as high.
///
/// # Errors
/// A spec of another agent, or an invalid spec.
pub fn typical_out_tokens(spec: &AgentSpec) -> Result<f64, Refusal> {
    let settings = read(spec)?;
    let plain = match settings.wording.method {
        Method::Prompt => 20.0,
        Method::Cot | Method::ScCot | Method::Parts | Method::Chat => 300.0,
        Method::Tot => 150.0,
        Method::SelfRefine => 200.0,
    };
    // A letter and a short analysis.
    let plain = plain + if settings.wording.emotion { 40.0 } else { 0.0 };
    let guess = plain * if settings.effort.is_some() { 10.0 } else { 1.0 };
    Ok(settings.max_tokens.map_or(guess, |most| guess.min(most as f64)))
}
