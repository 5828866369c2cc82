//! The interface of agents: a [`Policy`] chooses a legal action on request.

use std::path::Path;

use ludex_protocol::Move;
use ludex_protocol::error::Issue;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::budget::Budget;
use crate::draw::{Draw, Key, Stream};
use crate::dyn_state::{DynState, DynView};
use crate::game::{Action, Mover, Seat, Viewer};

/// Source of an agent's randomness.
#[derive(Clone, Copy)]
pub enum AgentKey<'a> {
    /// The episode's seed, from which in-process agents derive keys for the purpose `agent`.
    Episode(&'a Draw),
    /// The agent's own key, for remote agents and fixed seeds.
    Own(&'a Key),
}

/// Information available to the agent.
#[derive(Clone, Copy)]
enum Sight<'a> {
    State(&'a dyn DynState),
    View(&'a dyn DynView),
}

/// One move or outcome of the episode so far, as observed by the seat that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMove {
    /// Party that made the move.
    pub by: Mover,
    /// Action or outcome; `None` if hidden from the seat, and for documents.
    pub action: Option<Action>,
    /// Event text that the seat received.
    pub text: String,
    /// Texts revealed to the seat between this event and the next event, such as drawn tiles. Each text appears once in
    /// a match.
    pub reveals: Vec<String>,
}

/// A refused reply to the pending request.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorAttempt {
    /// The complete reply; `None` if the agent did not reply.
    pub given: Option<Move>,
    /// Reason of the refusal, from the game.
    pub why: String,
    /// Issues of a refused document.
    pub issues: Vec<Issue>,
}

impl PriorAttempt {
    /// Returns the reply as text.
    pub fn text(&self) -> String {
        match &self.given {
            None => String::new(),
            Some(Move::Id(a)) => a.to_string(),
            Some(Move::Text(text)) => text.clone(),
            Some(Move::Document(document)) => document.to_string(),
        }
    }
}

/// A persistent store for an agent's external results, such as paid replies of an endpoint. A host that restarts after
/// a crash plays the episode again from the journal, without new requests. The agent chooses the keys; the host
/// provides a separate journal for each episode and seat.
pub trait Journal: Send + Sync {
    /// Returns the entry stored under `key`.
    fn find(&self, key: &str) -> Option<Value>;
    /// Returns the entry stored under `key`. Unlike [`find`](Journal::find), does not count as a use of the entry.
    fn recall(&self, key: &str) -> Option<Value> {
        self.find(key)
    }
    /// Stores `entry` under `key`.
    ///
    /// # Errors
    /// Fails if the entry cannot be persisted; the agent should then stop.
    fn keep(&self, key: &str, entry: &Value) -> Result<(), String>;
    /// Returns the journal's directory, in which an agent may store files that several journals share.
    fn shelf(&self) -> Option<Shelf<'_>> {
        None
    }
}

/// A directory of several journals, with the same lifetime as the journals.
pub struct Shelf<'a> {
    /// Path of the directory.
    pub folder: &'a Path,
    /// Name of the journal, unique in the directory.
    pub journal: String,
}

/// A move request to an agent: one seat with its turn counter, legal actions and view.
///
/// The reply is a function of the agent's spec, the agent's key, the turn and the view. A remote agent and an
/// in-process agent therefore play the same game for the same seed.
#[derive(Clone, Copy)]
pub struct MoveRequest<'a> {
    /// Seat that has to move.
    pub seat: Seat,
    /// Number of earlier turns of this seat.
    pub turn: u32,
    /// Legal actions, ascending, not empty.
    pub legal: &'a [Action],
    key: AgentKey<'a>,
    sight: Sight<'a>,
    peek: bool,
    past: Option<&'a [ObservedMove]>,
    attempts: &'a [PriorAttempt],
    journal: Option<&'a dyn Journal>,
    budget: Budget<'a>,
}

impl<'a> MoveRequest<'a> {
    fn new(sight: Sight<'a>, seat: Seat, turn: u32, legal: &'a [Action], key: AgentKey<'a>) -> Self {
        let budget = Budget::default();
        MoveRequest { seat, turn, legal, key, sight, peek: false, past: None, attempts: &[], journal: None, budget }
    }

    /// Creates a request from the state of the host. The seat's view is computed on access.
    pub fn on_state(state: &'a dyn DynState, seat: Seat, turn: u32, legal: &'a [Action], key: AgentKey<'a>) -> Self {
        Self::new(Sight::State(state), seat, turn, legal, key)
    }

    /// Creates a request from a view, for remote agents.
    pub fn on_view(view: &'a dyn DynView, seat: Seat, turn: u32, legal: &'a [Action], key: AgentKey<'a>) -> Self {
        Self::new(Sight::View(view), seat, turn, legal, key)
    }

    /// Grants access to the true state, for studies of the value of hidden information. Must not be used in rated
    /// matches.
    pub fn with_peek(mut self) -> Self {
        self.peek = true;
        self
    }

    /// Returns the request with `key` instead of its current key.
    pub fn keyed<'k>(&self, key: AgentKey<'k>) -> MoveRequest<'k>
    where
        'a: 'k,
    {
        let request: MoveRequest<'k> = *self;
        MoveRequest { key, ..request }
    }

    /// Sets the deadline and the scheduler for the reply.
    pub fn with_budget(mut self, budget: Budget<'a>) -> Self {
        self.budget = budget;
        self
    }

    /// Returns the deadline and the scheduler for the reply.
    pub fn budget(&self) -> Budget<'a> {
        self.budget
    }

    /// Adds the history of the episode, for programs that need every move.
    pub fn with_history(mut self, past: &'a [ObservedMove]) -> Self {
        self.past = Some(past);
        self
    }

    /// Adds the earlier replies to this request that were refused.
    pub fn with_attempts(mut self, attempts: &'a [PriorAttempt]) -> Self {
        self.attempts = attempts;
        self
    }

    /// Adds a journal for the agent.
    pub fn with_journal(mut self, journal: &'a dyn Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Returns the refused replies to this request, oldest first.
    pub fn attempts(&self) -> &'a [PriorAttempt] {
        self.attempts
    }

    /// Returns the agent's journal; `None` if the host has none.
    pub fn journal(&self) -> Option<&'a dyn Journal> {
        self.journal
    }

    /// Returns all moves and outcomes that the seat observed, oldest first; `None` if the host records no history, as
    /// in batches.
    pub fn past(&self) -> Option<&'a [ObservedMove]> {
        self.past
    }

    /// Returns the seat's view.
    pub fn view(&self) -> Box<dyn DynView> {
        match self.sight {
            Sight::State(s) => s.view(Viewer::Seat(self.seat)),
            Sight::View(v) => v.boxed(),
        }
    }

    /// Returns the name of the current phase, in games with several phases; `None` if the host supplies no state.
    pub fn phase(&self) -> Option<&'static str> {
        match self.sight {
            Sight::State(s) => s.phase(),
            Sight::View(_) => None,
        }
    }

    /// Returns the true state, if the host granted access.
    pub fn peek(&self) -> Option<Box<dyn DynState>> {
        match self.sight {
            Sight::State(s) if self.peek => Some(s.boxed()),
            _ => None,
        }
    }

    /// Returns the random stream of this turn: SHA-256 over the agent's key, the seat and the turn (four bytes each,
    /// little-endian).
    ///
    /// For in-process agents, the key is the episode's key for the purpose `agent`.
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

/// A synchronous agent, for hosts that wait for its action, such as batches with server agents.
pub trait Policy: Send + Sync {
    /// Returns a legal action. In a batch, an illegal action forfeits the episode, whatever the setting `on_illegal`.
    fn choose(&self, ask: &MoveRequest<'_>) -> Action;

    /// Returns true if the agent needs the true state, for studies of the value of hidden information.
    fn peeks(&self) -> bool {
        false
    }
}
