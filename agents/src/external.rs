//! Agents that are programs or endpoints: known by name, so that hosts can tell them from typing errors.

use std::sync::Arc;

use ludex_env::GameRef;

use crate::agent::Agent;
use crate::error::{AgentError, ErrorKind};
use crate::spec::AgentSpec;

/// Says that there is no adapter.
pub(crate) fn build(spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, AgentError> {
    let name = spec.name();
    let message = format!("this version has no adapter for {name} agents; `ludex agents` lists what it can play");
    Err(AgentError { got: spec.to_string(), ..AgentError::new(ErrorKind::NoAdapter, message) })
}
