//! What an agent is, and how hosts that know only [`Policy`] ask one.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use ludex_env::draw::{Key, key};
use ludex_env::{Action, AgentKey, DynState, MoveRequest, Policy, Seat};
use ludex_protocol::Move;
use ludex_protocol::record::Notes;

use crate::error::AgentError;

/// An agent's move, and its notes on it.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveReply {
    /// Its move; `None`: it gives up.
    pub mv: Option<Move>,
    /// Notes for the record, possibly empty. Agents of this crate put `sims`, `value`, `nodes`, `depth`, `cut` and the
    /// like into `more`.
    pub notes: Notes,
}

impl MoveReply {
    /// A move without notes.
    pub fn new(mv: Move) -> Self {
        MoveReply { mv: Some(mv), notes: Notes::default() }
    }

    /// A legal action without notes.
    pub fn id(a: Action) -> Self {
        Self::new(Move::Id(a.into()))
    }

    /// Giving up.
    pub fn resign() -> Self {
        MoveReply { mv: None, notes: Notes::default() }
    }

    /// Adds a note under a name for which [`Notes`] does not have a field.
    pub fn note(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.notes.more.insert(name.to_owned(), value.into());
        self
    }

    /// The action id, if the move is one.
    pub fn action(&self) -> Option<Action> {
        match self.mv {
            Some(Move::Id(id)) => Action::try_from(id).ok(),
            _ => None,
        }
    }
}

/// A player of one game.
///
/// An answer is a function of (spec, agent key, turn, view): all randomness comes from [`Ask::stream`], which is keyed by
/// turn, and whatever an agent keeps between questions (trees, transcripts) is a cache. So one agent may be asked from
/// several threads, about several episodes, in any order, and again after a crash.
///
/// There are two exceptions, and both can be seen: [`Agent::reproducible`] is false for agents that look at the clock or at a person, and
/// an answer that a deadline cut short carries the note `cut: true`.
pub trait Agent: Send + Sync {
    /// The move for this question. With a deadline it returns by then, with an answer or an error; only a person is not
    /// hurried.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) when the agent cannot answer: the fault is the agent's.
    /// [`ErrorKind::Late`](crate::ErrorKind::Late) when the deadline comes before its answer.
    /// [`ErrorKind::Infrastructure`](crate::ErrorKind::Infrastructure) when what it needs (an endpoint, a network) fails.
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError>;

    /// Whether it looks at the true state ([`Ask::peek`]), which hosts allow in unrated episodes only.
    fn needs_full_state(&self) -> bool {
        false
    }

    /// Whether the same question always gets the same answer.
    fn reproducible(&self) -> bool {
        true
    }

    /// Whether [`Agent::act`] waits for something other than its own computing: a program, an endpoint, a person. Hosts
    /// give such an agent a thread of its own, never one of a pool that computes.
    fn is_io_bound(&self) -> bool {
        false
    }

    /// Whether it gathers the questions of many episodes and answers them together, maybe hours later. A host asks it about as
    /// many episodes at a time as it can, and sets no limit for a move; where there must be one, it refuses the agent.
    fn is_batched(&self) -> bool {
        false
    }

    /// Whether it reads [`Ask::past`]. A host need not keep the moves of an episode for agents that do not.
    fn needs_history(&self) -> bool {
        false
    }

    /// Called when a match with this agent begins. A host that calls `enter` calls it once for each seat of the agent,
    /// and [`Agent::leave`] once for each of these seats at the end.
    fn enter(&self) {}

    /// Called when a match with this agent ends, once for each seat that [`Agent::enter`] was called for. After the last
    /// one the agent may drop what it keeps for later turns.
    fn leave(&self) {}
}

/// Asks an agent for one move of `seat`, which is to move in `state`: the simplest way, without a match around it.
///
/// The agent's randomness comes from `seed`, as with the argument `seed` of specs on the seat's first turn: a caller that
/// asks again later in an episode gives another seed. Hosts of matches build an [`Ask`] themselves, with the episode's
/// draw, the turn and the past.
///
/// # Errors
/// As [`Agent::act`].
pub fn ask(agent: &dyn Agent, state: &dyn DynState, seat: Seat, seed: u64) -> Result<MoveReply, AgentError> {
    let legal = state.legal_list(seat);
    agent.act(&MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&seed_key(seed))), None)
}

/// The key that a seed stands for: SHA-256 of `ludex.v1:agent-seed:N`.
pub(crate) fn seed_key(seed: u64) -> Key {
    key(&format!("ludex.v1:agent-seed:{seed}"))
}

/// An agent as a [`Policy`], for batches and other hosts that need an action at once, without a deadline.
pub struct InProcess(pub Arc<dyn Agent>);

/// What [`InProcess`] answers when the agent gave up, failed, or did not name a legal action. It is not an action of any
/// game.
pub const NO_ACTION: Action = Action::MAX;

impl Policy for InProcess {
    fn choose(&self, ask: &MoveRequest<'_>) -> Action {
        let Ok(answer) = self.0.act(ask, None) else { return NO_ACTION };
        let action = match &answer.mv {
            Some(Move::Text(text)) => ask.view().parse(ask.seat, ask.legal, text),
            _ => answer.action(),
        };
        action.unwrap_or(NO_ACTION)
    }

    fn peeks(&self) -> bool {
        self.0.needs_full_state()
    }
}

/// An agent whose questions and answers pass through `act`, which may ask the agent itself. In everything else the new
/// agent is as the old one: wrappers are made by this function, so that none forgets to pass on what it does not change.
pub fn wrap<F>(agent: Arc<dyn Agent>, act: F) -> Wrapped<F>
where
    F: Fn(&dyn Agent, &MoveRequest<'_>, Option<Instant>) -> Result<MoveReply, AgentError> + Send + Sync,
{
    Wrapped { reads_past: agent.needs_history(), agent, act }
}

/// What [`wrap`] makes.
pub struct Wrapped<F> {
    agent: Arc<dyn Agent>,
    act: F,
    reads_past: bool,
}

impl<F> Wrapped<F> {
    /// The same for an `act` that reads [`Ask::past`] itself.
    pub fn reading_past(self) -> Self {
        Wrapped { reads_past: true, ..self }
    }
}

// A method that is added to the trait must be passed on here too.
#[warn(clippy::missing_trait_methods)]
impl<F> Agent for Wrapped<F>
where
    F: Fn(&dyn Agent, &MoveRequest<'_>, Option<Instant>) -> Result<MoveReply, AgentError> + Send + Sync,
{
    fn act(&self, ask: &MoveRequest<'_>, deadline: Option<Instant>) -> Result<MoveReply, AgentError> {
        (self.act)(&*self.agent, ask, deadline)
    }

    fn needs_full_state(&self) -> bool {
        self.agent.needs_full_state()
    }

    fn reproducible(&self) -> bool {
        self.agent.reproducible()
    }

    fn is_io_bound(&self) -> bool {
        self.agent.is_io_bound()
    }

    fn is_batched(&self) -> bool {
        self.agent.is_batched()
    }

    fn needs_history(&self) -> bool {
        self.reads_past
    }

    fn enter(&self) {
        self.agent.enter();
    }

    fn leave(&self) {
        self.agent.leave();
    }
}
