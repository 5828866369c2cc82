//! Why an agent did not answer.

use ludex_protocol::Refusal;

/// Whose fault it is that there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The agent could not answer a question: its own fault.
    Failed,
    /// It took longer than it may.
    Late,
    /// The agent's infrastructure (endpoint, network) failed or was not available: not the agent's fault, and no loss.
    Infrastructure,
}

/// An agent that did not answer. A spec that is wrong, or does not fit a game, is a [`Refusal`] instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// One sentence for people.
    pub message: String,
}

impl AgentError {
    /// No answer, for a reason of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        AgentError { kind, message: message.into() }
    }

    /// The agent could not answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The deadline came before the answer.
    pub fn late(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Late, message)
    }

    /// The agent's infrastructure failed.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Infrastructure, message)
    }
}

impl From<Refusal> for AgentError {
    fn from(refusal: Refusal) -> Self {
        AgentError::failed(refusal.message)
    }
}
