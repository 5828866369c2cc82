//! What can be wrong with an agent.

use ludex_protocol::error::nearest;

/// What kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no agent spec.
    Syntax,
    /// No agent of this name.
    UnknownAgent,
    /// The agent has no argument of this name, or it was given twice.
    UnknownArgument,
    /// An argument's value is of the wrong type or out of range.
    BadValue,
    /// A required argument is missing.
    Missing,
    /// The agent does not play this game.
    Unfit,
    /// The agent could not answer a question: its own fault.
    Failed,
    /// It took longer than it may.
    Late,
    /// What the agent stands on failed (an endpoint is down, a network), or could not be used at all: nobody's fault, and
    /// no loss.
    Infrastructure,
}

/// An agent that cannot be built or cannot answer. Fields are for programs; `message` is for people.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    /// What kind.
    pub kind: ErrorKind,
    /// The argument at fault, if one is.
    pub name: Option<String>,
    /// What was given; empty where that says nothing.
    pub got: String,
    /// What is allowed: names, or one description.
    pub allowed: Box<[String]>,
    /// The nearest name that exists.
    pub nearest: Option<String>,
    /// One sentence.
    pub message: String,
}

impl AgentError {
    /// A fault that needs no more than its sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        AgentError {
            kind,
            name: None,
            got: String::new(),
            allowed: Box::default(),
            nearest: None,
            message: message.into(),
        }
    }

    /// The agent could not answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The deadline came before the answer.
    pub fn late(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Late, message)
    }

    /// What the agent stands on failed.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Infrastructure, message)
    }

    /// `agent` does not play `game` because of `why`; `fits` says what would.
    pub fn unfit(agent: &str, game: &str, why: &str, fits: &str) -> Self {
        let message = format!("{agent} does not play {game}: {why}; {fits}");
        AgentError { got: agent.into(), allowed: [fits.to_owned()].into(), ..Self::new(ErrorKind::Unfit, message) }
    }

    /// A name that is not among `known`. `what` is said to people: `agent`, or `argument of mcts`.
    pub(crate) fn unknown(kind: ErrorKind, what: &str, got: &str, known: Vec<String>) -> Self {
        let near = nearest(got, known.iter().map(String::as_str)).map(str::to_owned);
        let hint = near.as_ref().map_or(".".to_owned(), |n| format!("; did you mean {n}?"));
        let message = format!("there is no {what} {got:?}{hint} There are: {}", known.join(", "));
        AgentError {
            name: (kind == ErrorKind::UnknownArgument).then(|| got.to_owned()),
            got: got.into(),
            allowed: known.into(),
            nearest: near,
            ..Self::new(kind, message)
        }
    }

    /// A value that the argument `name` does not take.
    pub(crate) fn value(name: &str, got: &str, allowed: String) -> Self {
        let message = format!("{name}={got} is no value for it: {allowed}");
        AgentError {
            name: Some(name.to_owned()),
            got: got.into(),
            allowed: [allowed].into(),
            ..Self::new(ErrorKind::BadValue, message)
        }
    }
}
