//! Agent trait, replies of agents, and an adapter to [`Policy`].

use std::sync::Arc;

use serde_json::Value;

use ludex_env::draw::{Key, key};
use ludex_env::{Action, AgentKey, DynState, MoveRequest, Policy, Seat};
use ludex_protocol::Move;
use ludex_protocol::record::Notes;

use crate::error::AgentError;

/// Reply of an agent: a move with notes.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveReply {
    /// Chosen move; `None` if the agent resigns.
    pub mv: Option<Move>,
    /// Notes for the record, possibly empty. Agents of this crate add entries such as `sims`, `value`, `nodes`, `depth`
    /// and `cut` to [`Notes::more`].
    pub notes: Notes,
}

impl MoveReply {
    /// Creates a reply without notes.
    pub fn new(mv: Move) -> Self {
        MoveReply { mv: Some(mv), notes: Notes::default() }
    }

    /// Creates a reply with an action id and no notes.
    pub fn id(a: Action) -> Self {
        Self::new(Move::Id(a.into()))
    }

    /// Creates a reply that resigns.
    pub fn resign() -> Self {
        MoveReply { mv: None, notes: Notes::default() }
    }

    /// Adds a note under a custom name, for values without a field in [`Notes`].
    pub fn note(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.notes.more.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the move as an action id; `None` for other kinds of moves.
    pub fn action(&self) -> Option<Action> {
        match self.mv {
            Some(Move::Id(id)) => Action::try_from(id).ok(),
            _ => None,
        }
    }
}

/// Agent that plays one game.
///
/// A reply is a function of the spec, the agent's key, the turn and the view. All randomness comes from
/// [`MoveRequest::stream`], whose key includes the turn. Any state that an agent stores between requests, such as trees
/// and transcripts, is a cache. Hosts may therefore call one agent from several threads, for several episodes, in any
/// order, and again after a crash.
///
/// There are two exceptions, both visible to the host. [`Agent::reproducible`] returns false for agents that depend on
/// the clock or on a person. A reply that a deadline cut short has the note `cut: true`.
pub trait Agent: Send + Sync {
    /// Chooses a move. Returns by the deadline of [`MoveRequest::budget`] with a reply or an error; only a person may
    /// exceed it. A search checks [`Budget::is_spent`](ludex_env::Budget::is_spent) every few milliseconds.
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

    /// Returns true if the agent always gives the same reply to the same request.
    fn reproducible(&self) -> bool {
        true
    }

    /// Returns the version of what the spec refers to, for records: for a network, the first digits of the SHA-256 of its
    /// file. `None` if the spec determines the agent.
    fn version(&self) -> Option<String> {
        None
    }

    /// Returns true if [`Agent::act`] blocks on a program, an endpoint or a person. Hosts run such an agent on a
    /// dedicated thread, not in a compute pool.
    fn is_io_bound(&self) -> bool {
        false
    }

    /// Returns true if the agent collects requests of many episodes into provider batches, which may take hours. Hosts
    /// run as many concurrent episodes as possible and set no time limit per move. Hosts that require a time limit
    /// refuse the agent.
    fn is_batched(&self) -> bool {
        false
    }

    /// Returns true if the agent reads [`MoveRequest::past`]. Otherwise hosts need not store the moves of an episode.
    fn needs_history(&self) -> bool {
        false
    }

    /// Notifies the agent that a match starts. Some hosts never call this method. All other hosts call it once for each
    /// of the agent's seats, and call [`Agent::leave`] once for each of these seats when the match ends.
    fn enter(&self) {}

    /// Notifies the agent that a match has ended, once per call of [`Agent::enter`]. Once this method has been called
    /// as often as [`Agent::enter`], no match is running, and the agent may drop its cached state.
    fn leave(&self) {}
}

/// Requests one move outside of a match. `seat` must be to move in `state`.
///
/// The agent draws its randomness from `seed`, exactly as an agent with the spec argument `seed` does on the first turn
/// of its seat. Pass a different seed for each later turn of the same episode. Hosts of matches build a [`MoveRequest`]
/// themselves, with the episode's stream, the turn and the history.
///
/// # Errors
/// Those of [`Agent::act`].
pub fn ask(agent: &dyn Agent, state: &dyn DynState, seat: Seat, seed: u64) -> Result<MoveReply, AgentError> {
    let legal = state.legal_list(seat);
    agent.act(&MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&seed_key(seed))))
}

/// Returns the agent key for a seed: SHA-256 of `ludex.v1:agent-seed:N`, where N is the seed.
pub(crate) fn seed_key(seed: u64) -> Key {
    key(&format!("ludex.v1:agent-seed:{seed}"))
}

/// Adapter from an agent to [`Policy`], for batches and other hosts that only need actions and set no deadline.
pub struct AgentPolicy(pub Arc<dyn Agent>);

/// Action that [`AgentPolicy`] returns if the agent resigns, fails or chooses no legal action. No game uses this id.
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

/// Wraps an agent so that `act` handles its move requests; `act` may call the wrapped agent. All other methods are
/// forwarded to the wrapped agent.
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
    /// Declares that the wrapper's `act` function reads [`MoveRequest::past`].
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

    fn version(&self) -> Option<String> {
        self.agent.version()
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
