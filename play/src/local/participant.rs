//! An agent on its seat.

use std::sync::Arc;

use ludex_agents::{Agent, AgentClass, AgentSpec};
use ludex_env::GameRef;
use ludex_protocol::Refusal;
use ludex_protocol::record::{AgentKind, RecordSeat};

/// An agent that takes seats.
#[derive(Clone)]
pub struct Participant {
    /// What records call it: its spec, unless somebody gave it a name.
    pub name: String,
    /// As it was written, in canonical form.
    pub spec: AgentSpec,
    /// The agent.
    pub agent: Arc<dyn Agent>,
}

impl Participant {
    /// The agent that `text` means in `game`.
    ///
    /// # Errors
    /// As [`AgentSpec::parse`] and [`AgentSpec::build`].
    pub fn new(text: &str, game: &GameRef) -> Result<Self, Refusal> {
        let spec = AgentSpec::parse(text)?;
        let agent = spec.build(game)?;
        Ok(Participant { name: spec.to_string(), spec, agent })
    }

    /// The seat as records tell it.
    pub(crate) fn record_seat(&self) -> RecordSeat {
        let kind = kind_of(&self.spec);
        let spec = (self.spec.class() != AgentClass::Remote).then(|| self.spec.to_string());
        RecordSeat { name: self.name.clone(), spec, version: None, kind }
    }
}

/// What records call an agent.
pub(crate) fn kind_of(spec: &AgentSpec) -> AgentKind {
    match spec.class() {
        AgentClass::Person => AgentKind::Human,
        AgentClass::Model => AgentKind::Llm,
        _ => AgentKind::Bot,
    }
}
