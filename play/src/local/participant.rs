//! Agents that take part in local matches.

use std::sync::Arc;

use ludex_agents::{Agent, AgentClass, AgentSpec};
use ludex_env::GameRef;
use ludex_protocol::Refusal;
use ludex_protocol::record::{AgentKind, RecordSeat};

/// Agent that can take seats.
#[derive(Clone)]
pub struct Participant {
    /// Name in records: the agent's name if it has one, otherwise the spec.
    pub name: String,
    /// Spec in canonical form.
    pub spec: AgentSpec,
    pub agent: Arc<dyn Agent>,
}

impl Participant {
    /// Builds the agent of the spec `text` for `game`.
    ///
    /// # Errors
    /// Same as [`AgentSpec::parse`] and [`AgentSpec::build`].
    pub fn new(text: &str, game: &GameRef) -> Result<Self, Refusal> {
        let spec = AgentSpec::parse(text)?;
        let agent = spec.build(game)?;
        Ok(Participant { name: spec.to_string(), spec, agent })
    }

    /// Returns the entry of this agent's seat in the record header.
    pub(crate) fn record_seat(&self) -> RecordSeat {
        let kind = kind_of(&self.spec);
        let spec = (self.spec.class() != AgentClass::Remote).then(|| self.spec.to_string());
        RecordSeat { name: self.name.clone(), version: self.agent.version(), spec, kind, ..RecordSeat::default() }
    }
}

/// Returns the agent kind that records give for `spec`.
pub fn kind_of(spec: &AgentSpec) -> AgentKind {
    match spec.class() {
        AgentClass::Person => AgentKind::Human,
        AgentClass::Model => AgentKind::Llm,
        _ => AgentKind::Bot,
    }
}
