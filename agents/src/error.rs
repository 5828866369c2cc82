//! Errors of agents that do not reply.

use ludex_protocol::Refusal;

/// Cause of a missing reply, which determines the party at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Failure of the agent itself.
    Failed,
    Late,
    /// Failure of a dependency, such as an endpoint or the network. The agent is not at fault and does not lose the
    /// match.
    Infrastructure,
}

/// Error of an agent that did not reply. Invalid specs and unsupported games are reported as a [`Refusal`] instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    pub kind: ErrorKind,
    /// One sentence for people to read.
    pub message: String,
}

impl AgentError {
    /// Creates an error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        AgentError { kind, message: message.into() }
    }

    /// Creates an [`ErrorKind::Failed`] error.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// Creates an [`ErrorKind::Late`] error.
    pub fn late(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Late, message)
    }

    /// Creates an [`ErrorKind::Infrastructure`] error.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Infrastructure, message)
    }
}

impl From<Refusal> for AgentError {
    fn from(refusal: Refusal) -> Self {
        AgentError::failed(refusal.message)
    }
}
