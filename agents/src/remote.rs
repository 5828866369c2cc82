//! `remote`: an agent outside this process, which connects to a server as a client.

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::args::{ArgDef, ArgKind};
use crate::error::AgentError;
use crate::spec::{AgentClass, AgentEntry, AgentSpec};

const OWNER: ArgDef = ArgDef::new("owner", ArgKind::Text, "owner of the token with which the agent connects");

pub(crate) const ENTRY: AgentEntry =
    AgentEntry::new("remote", "an agent that connects to the server under this entrant's name", build)
        .class(AgentClass::Remote)
        .args(&[OWNER]);

fn build(_spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    Ok(Arc::new(Remote))
}

/// Placeholder for a remote agent in a run. `act` always fails, since only a server can reach the agent.
struct Remote;

impl Agent for Remote {
    fn act(&self, _ask: &MoveRequest) -> Result<MoveReply, AgentError> {
        Err(AgentError::failed("remote agents play only on a server; enroll the agent there"))
    }

    fn reproducible(&self) -> bool {
        false
    }

    fn is_io_bound(&self) -> bool {
        true
    }
}
