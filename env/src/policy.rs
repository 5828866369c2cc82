//! Players as the rules see them: something that chooses a legal action when asked.

use std::path::Path;

use ludex_protocol::Move;
use ludex_protocol::error::Issue;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::draw::{Draw, Key, Stream};
use crate::dyn_state::{DynState, DynView};
use crate::game::{Action, Mover, Seat, Viewer};

/// Where an agent's randomness comes from.
#[derive(Clone, Copy)]
pub enum AgentKey<'a> {
    /// The episode's seed, under a purpose of its own (in-process agents).
    Episode(&'a Draw),
    /// A key of the agent's own (remote agents, fixed seeds).
    Own(&'a Key),
}

/// What the agent may look at.
#[derive(Clone, Copy)]
enum Sight<'a> {
    State(&'a dyn DynState),
    View(&'a dyn DynView),
}

/// One move or outcome of the episode so far, as the asked seat knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMove {
    /// Whose it was.
    pub by: Mover,
    /// The action or outcome; `None` where the seat may not know it, and for what was said.
    pub action: Option<Action>,
    /// What the seat was told of it, in words.
    pub text: String,
    /// What was shown to the seat after it and before the next one: tiles drawn, claims that won. Each text stands once in a match.
    pub reveals: Vec<String>,
}

/// An answer to the open question that was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorAttempt {
    /// What was answered, whole; `None` where nothing was.
    pub given: Option<Move>,
    /// Why it was refused, in the game's words.
    pub why: String,
    /// What is wrong with a document.
    pub issues: Vec<Issue>,
}

impl PriorAttempt {
    /// What was answered, as text.
    pub fn text(&self) -> String {
        match &self.given {
            None => String::new(),
            Some(Move::Id(a)) => a.to_string(),
            Some(Move::Text(text)) => text.clone(),
            Some(Move::Document(document)) => document.to_string(),
        }
    }
}

/// What an agent did outside (asked an endpoint, paid for it) in one episode, kept so that it is not done again when the
/// episode is: a host that comes back after a crash plays the same moves from the journal. Keys are the agent's own; the
/// host keeps episodes and seats apart.
pub trait Journal: Send + Sync {
    /// What was kept under `key`.
    fn find(&self, key: &str) -> Option<Value>;
    /// The same, to look back only: what was kept is not taken for an answer that was spared now.
    fn recall(&self, key: &str) -> Option<Value> {
        self.find(key)
    }
    /// Keeps `entry`.
    ///
    /// # Errors
    /// Why it cannot be kept. The agent should stop then.
    fn keep(&self, key: &str, entry: &Value) -> Result<(), String>;
    /// The folder that it belongs to, where an agent may keep a file about questions of several journals.
    fn shelf(&self) -> Option<Shelf<'_>> {
        None
    }
}

/// A folder that lasts as long as the journals in it.
pub struct Shelf<'a> {
    /// Where it is.
    pub folder: &'a Path,
    /// The name of the journal, which no other in the folder has.
    pub journal: String,
}

/// A question to an agent: one seat, its own turn counter, its legal actions and its view.
///
/// The answer is a function of the agent's spec, its key, the turn and the view, so that a remote agent and an
/// in-process one play the same game for the same seed.
pub struct MoveRequest<'a> {
    /// The seat asked.
    pub seat: Seat,
    /// This seat's own turns so far.
    pub turn: u32,
    /// Legal actions, ascending, not empty.
    pub legal: &'a [Action],
    key: AgentKey<'a>,
    sight: Sight<'a>,
    peek: bool,
    past: Option<&'a [ObservedMove]>,
    attempts: &'a [PriorAttempt],
    journal: Option<&'a dyn Journal>,
}

impl<'a> MoveRequest<'a> {
    /// A question about a state of the host's; the agent gets the seat's view of it, made when it looks.
    pub fn on_state(state: &'a dyn DynState, seat: Seat, turn: u32, legal: &'a [Action], key: AgentKey<'a>) -> Self {
        MoveRequest {
            seat,
            turn,
            legal,
            key,
            sight: Sight::State(state),
            peek: false,
            past: None,
            attempts: &[],
            journal: None,
        }
    }

    /// A question about a view, as remote agents get it.
    pub fn on_view(view: &'a dyn DynView, seat: Seat, turn: u32, legal: &'a [Action], key: AgentKey<'a>) -> Self {
        MoveRequest {
            seat,
            turn,
            legal,
            key,
            sight: Sight::View(view),
            peek: false,
            past: None,
            attempts: &[],
            journal: None,
        }
    }

    /// Lets the agent see the true state, for studies of what hidden information is worth; never in rated matches.
    pub fn with_peek(mut self) -> Self {
        self.peek = true;
        self
    }

    /// The same question under another key.
    pub fn keyed<'k>(&self, key: AgentKey<'k>) -> MoveRequest<'k>
    where
        'a: 'k,
    {
        MoveRequest {
            seat: self.seat,
            turn: self.turn,
            legal: self.legal,
            key,
            sight: self.sight,
            peek: self.peek,
            past: self.past,
            attempts: self.attempts,
            journal: self.journal,
        }
    }

    /// Tells the agent how the episode came here, for programs that want to hear every move.
    pub fn with_history(mut self, past: &'a [ObservedMove]) -> Self {
        self.past = Some(past);
        self
    }

    /// Tells the agent which answers to this question were refused before.
    pub fn with_attempts(mut self, attempts: &'a [PriorAttempt]) -> Self {
        self.attempts = attempts;
        self
    }

    /// Gives the agent a journal.
    pub fn with_journal(mut self, journal: &'a dyn Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The answers to this question that were refused, oldest first.
    pub fn attempts(&self) -> &'a [PriorAttempt] {
        self.attempts
    }

    /// Where the agent keeps what it did outside; `None` where the host keeps nothing.
    pub fn journal(&self) -> Option<&'a dyn Journal> {
        self.journal
    }

    /// All moves and outcomes that the seat saw, oldest first; `None` where the host keeps none (batches).
    pub fn past(&self) -> Option<&'a [ObservedMove]> {
        self.past
    }

    /// What the seat knows.
    pub fn view(&self) -> Box<dyn DynView> {
        match self.sight {
            Sight::State(s) => s.view(Viewer::Seat(self.seat)),
            Sight::View(v) => v.boxed(),
        }
    }

    /// The name of the position's phase, for games that have several; `None` where the host shows no state.
    pub fn phase(&self) -> Option<&'static str> {
        match self.sight {
            Sight::State(s) => s.phase(),
            Sight::View(_) => None,
        }
    }

    /// The true state, where the host allowed to peek.
    pub fn peek(&self) -> Option<Box<dyn DynState>> {
        match self.sight {
            Sight::State(s) if self.peek => Some(s.boxed()),
            _ => None,
        }
    }

    /// The randomness of this turn: SHA-256 over the agent's key, the seat and the turn (four bytes each, little-endian).
    ///
    /// The agent's key of an in-process agent is the episode's key for the purpose `agent`.
    pub fn stream(&self) -> Stream {
        let base = match self.key {
            AgentKey::Episode(draw) => draw.other("agent"),
            AgentKey::Own(key) => *key,
        };
        let mut h = Sha256::new();
        h.update(base);
        h.update((self.seat as u32).to_le_bytes());
        h.update(self.turn.to_le_bytes());
        Stream::new(&h.finalize().into())
    }
}

/// An agent for hosts that need an action at once: server-played seats of batches, schedules, solvers.
pub trait Policy: Send + Sync {
    /// A legal action; anything else loses the episode where illegal moves lose, and is an error elsewhere.
    fn choose(&self, ask: &MoveRequest<'_>) -> Action;

    /// Whether the agent wants the true state, in studies of what hidden information is worth.
    fn peeks(&self) -> bool {
        false
    }
}
