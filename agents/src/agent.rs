//! The agent trait, its reply, and an adapter for hosts that use only [`Policy`].

use std::sync::Arc;

use serde_json::Value;

use ludex_env::draw::{Key, key};
use ludex_env::{Action, AgentKey, Budget, DynState, MoveRequest, Policy, Seat};
use ludex_protocol::Move;
use ludex_protocol::record::Notes;

use crate::error::AgentError;

/// Reply of an agent: a move with notes.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveReply {
    /// Chosen move; `None` to resign.
    pub mv: Option<Move>,
    /// Notes for the record, possibly empty. Agents of this crate put `sims`, `value`, `nodes`, `depth`, `cut` and
    /// similar entries into `more`.
    pub notes: Notes,
}

impl MoveReply {
    /// Creates a reply without notes.
    pub fn new(mv: Move) -> Self {
        MoveReply { mv: Some(mv), notes: Notes::default() }
    }

    /// Creates a reply with a legal action and no notes.
    pub fn id(a: Action) -> Self {
        Self::new(Move::Id(a.into()))
    }

    /// Creates a reply that resigns.
    pub fn resign() -> Self {
        MoveReply { mv: None, notes: Notes::default() }
    }

    /// Adds a note under a name for which [`Notes`] has no field.
    pub fn note(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.notes.more.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the action id if the move is one.
    pub fn action(&self) -> Option<Action> {
        match self.mv {
            Some(Move::Id(id)) => Action::try_from(id).ok(),
            _ => None,
        }
    }
}

/// Agent that plays one game.
///
/// A reply is a function of (spec, agent key, turn, view). All randomness comes from [`MoveRequest::stream`], which is
/// keyed by turn, and state stored between requests (trees, transcripts) is a cache. Hosts may therefore call one agent
/// from several threads, for several episodes, in any order, and again after a crash.
///
/// There are two exceptions, both visible to the host: [`Agent::reproducible`] returns false for agents that depend on
/// the clock or on a person, and a reply cut short by a deadline carries the note `cut: true`.
pub trait Agent: Send + Sync {
    /// Chooses a move for this request. Returns by the deadline of [`MoveRequest::budget`], if there is one, with a
    /// reply or an error; only a person may exceed it. A search checks [`Budget::is_spent`] every few milliseconds, so
    /// that its host can give others a turn or stop it.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](crate::ErrorKind::Failed) if the agent cannot reply: the agent is at fault.
    /// [`ErrorKind::Late`](crate::ErrorKind::Late) if the deadline passes before the reply.
    /// [`ErrorKind::Infrastructure`](crate::ErrorKind::Infrastructure) if a dependency (endpoint, network) fails.
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError>;

    /// Returns true if the agent reads the full state ([`MoveRequest::peek`]), which hosts allow in unrated episodes
    /// only.
    fn needs_full_state(&self) -> bool {
        false
    }

    /// Returns true if equal requests always get equal replies.
    fn reproducible(&self) -> bool {
        true
    }

    /// Returns true if [`Agent::act`] blocks on a program, an endpoint or a person. Hosts run such an agent on a
    /// dedicated thread, not in a compute pool.
    fn is_io_bound(&self) -> bool {
        false
    }

    /// Returns true if the agent collects requests of many episodes into provider batches, which may take hours. Hosts
    /// run as many episodes at a time as they can and set no limit per move. A host that requires a limit refuses the
    /// agent.
    fn is_batched(&self) -> bool {
        false
    }

    /// Returns true if the agent reads [`MoveRequest::past`]. Hosts need not store the moves of an episode for other
    /// agents.
    fn needs_history(&self) -> bool {
        false
    }

    /// Notifies the agent that a match starts. Hosts that call `enter` call it once for each seat of the agent, and
    /// [`Agent::leave`] once for each of these seats at the end.
    fn enter(&self) {}

    /// Notifies the agent that a match has ended, once for each call of [`Agent::enter`]. After the last call the agent
    /// may drop state stored for later turns.
    fn leave(&self) {}
}

/// Requests one move of `seat`, which is to move in `state`, outside of a match.
///
/// The agent's randomness comes from `seed`, like the spec argument `seed` on the seat's first turn. For a later turn
/// of the same episode, pass a different seed. Hosts of matches build a [`MoveRequest`] themselves, with the episode's stream,
/// the turn and the history.
///
/// # Errors
/// Those of [`Agent::act`].
pub fn ask(agent: &dyn Agent, state: &dyn DynState, seat: Seat, seed: u64) -> Result<MoveReply, AgentError> {
    let legal = state.legal_list(seat);
    agent.act(&MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&seed_key(seed))))
}

/// Returns the key derived from a seed: SHA-256 of `ludex.v1:agent-seed:N`.
pub(crate) fn seed_key(seed: u64) -> Key {
    key(&format!("ludex.v1:agent-seed:{seed}"))
}

/// Adapter from an agent to [`Policy`], for batches and other hosts that need an action without a deadline.
pub struct AgentPolicy(pub Arc<dyn Agent>);

/// Action that [`AgentPolicy`] returns if the agent resigned, failed or chose no legal action. No game uses this id.
pub const NO_ACTION: Action = Action::MAX;

impl Policy for AgentPolicy {
    fn choose(&self, ask: &MoveRequest<'_>) -> Action {
        let Ok(answer) = self.0.act(ask) else { return NO_ACTION };
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

/// Wraps an agent so that `act` handles its move requests, and may call the agent. All other methods are forwarded to
/// the agent.
pub fn wrap<F>(agent: Arc<dyn Agent>, act: F) -> WrappedAgent<F>
where
    F: Fn(&dyn Agent, &MoveRequest<'_>) -> Result<MoveReply, AgentError> + Send + Sync,
{
    WrappedAgent { reads_past: agent.needs_history(), agent, act }
}

/// Agent returned by [`wrap`].
pub struct WrappedAgent<F> {
    agent: Arc<dyn Agent>,
    act: F,
    reads_past: bool,
}

impl<F> WrappedAgent<F> {
    /// Declares that `act` itself reads [`MoveRequest::past`].
    pub fn with_history(self) -> Self {
        WrappedAgent { reads_past: true, ..self }
    }
}

// New trait methods must be forwarded here.
#[warn(clippy::missing_trait_methods)]
impl<F> Agent for WrappedAgent<F>
where
    F: Fn(&dyn Agent, &MoveRequest<'_>) -> Result<MoveReply, AgentError> + Send + Sync,
{
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        (self.act)(&*self.agent, ask)
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
