//! What an agent is, and how hosts that know only [`Policy`] ask one.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use ludex_env::draw::Key;
use ludex_env::{Action, AgentKey, Ask, Policy};

use crate::error::AgentError;

/// What an agent wants to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Play a legal action.
    Id(Action),
    /// Say this: an action in any notation that the game knows, or speech.
    Text(String),
    /// Hand in this document.
    Said(Value),
    /// Give up.
    Resign,
}

/// A move, and what the agent has to tell about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The move.
    pub mv: Move,
    /// Free notes for the record (`sims`, `value`, `cut`, `analysis`, `tokens`); empty where there is nothing to tell.
    pub notes: Map<String, Value>,
}

impl Answer {
    /// A move without notes.
    pub fn new(mv: Move) -> Self {
        Answer { mv, notes: Map::new() }
    }

    /// A legal action without notes.
    pub fn id(a: Action) -> Self {
        Self::new(Move::Id(a))
    }

    /// Adds a note.
    pub fn note(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.notes.insert(name.to_owned(), value.into());
        self
    }
}

/// A player of one game.
///
/// An answer is a function of (spec, agent key, turn, view): all randomness comes from [`Ask::stream`], which is keyed by
/// turn, and whatever an agent keeps between questions (trees, transcripts) is a cache. So one agent may be asked from
/// several threads, about several episodes, in any order, and again after a crash.
///
/// The two exceptions are told: [`Agent::reproducible`] is false for agents that look at the clock or at a person, and
/// an answer that a deadline cut short carries the note `cut: true`.
pub trait Agent: Send + Sync {
    /// The move for this question, by `deadline` if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) when the agent cannot answer: the fault is the agent's.
    fn act(&self, ask: &Ask<'_>, deadline: Option<Instant>) -> Result<Answer, AgentError>;

    /// Whether it looks at the true state ([`Ask::peek`]), which hosts allow in unrated episodes only.
    fn peeks(&self) -> bool {
        false
    }

    /// Whether the same question always gets the same answer.
    fn reproducible(&self) -> bool {
        true
    }

    /// A match begins in which it has a seat. Hosts that say so say it for every seat, and [`Agent::leave`] at the end.
    fn enter(&self) {}

    /// A match ended in which it had a seat: when all are over, what it kept for their next turns may go.
    fn leave(&self) {}
}

/// An agent as a [`Policy`], for batches and other hosts that need an action at once, without a deadline.
pub struct InProcess(pub Arc<dyn Agent>);

/// What [`InProcess`] answers when the agent gave up, failed, or named nothing legal: no action of any game.
pub const NO_ACTION: Action = Action::MAX;

impl Policy for InProcess {
    fn choose(&self, ask: &Ask<'_>) -> Action {
        match self.0.act(ask, None).map(|answer| answer.mv) {
            Ok(Move::Id(a)) => a,
            Ok(Move::Text(text)) => ask.view().parse(ask.seat, ask.legal, &text).unwrap_or(NO_ACTION),
            Ok(Move::Said(_) | Move::Resign) | Err(_) => NO_ACTION,
        }
    }

    fn peeks(&self) -> bool {
        self.0.peeks()
    }
}

/// An agent with a key of its own, whatever the host's: the argument `seed` of every spec.
pub(crate) struct Keyed {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) key: Key,
}

impl Agent for Keyed {
    fn act(&self, ask: &Ask<'_>, deadline: Option<Instant>) -> Result<Answer, AgentError> {
        self.agent.act(&ask.keyed(AgentKey::Own(&self.key)), deadline)
    }

    fn peeks(&self) -> bool {
        self.agent.peeks()
    }

    fn reproducible(&self) -> bool {
        self.agent.reproducible()
    }

    fn enter(&self) {
        self.agent.enter();
    }

    fn leave(&self) {
        self.agent.leave();
    }
}
