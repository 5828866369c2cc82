//! Server agents of one match, and their pending replies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_agents::{AgentError, MoveReply};
use ludex_env::{Budget, Seat};
use ludex_gym::compute::{Compute, CurrentJob, JobError, caught};
use ludex_play::machine::MatchMachine;
use ludex_play::machine::interface::{AgentOutcome, Input};
use ludex_protocol::record::EndReason;
use tokio::task::AbortHandle;

use crate::sessions::match_handle::{MatchCommand, MatchHandle, TimedAgent};

/// Maximum time reserved for the delivery of an agent's reply. The reserved time is a tenth of the agent's time per
/// turn, up to this maximum.
const WAY: Duration = Duration::from_millis(200);

type Reply = Result<MoveReply, AgentError>;

/// Server agents of a match, by seat; `None` for a client, and for an agent that is [provided](ServerAgents::provide)
/// later. They are notified of its start on [`enter`](Self::enter) and, on
/// [`leave`](Self::leave) or on drop, of its end.
pub(super) struct ServerAgents {
    agents: Vec<Option<TimedAgent>>,
    /// Task of the last request to the agent on each seat.
    replies: Vec<Option<AbortHandle>>,
    /// Owner charged for the agents' compute time: the owner of the first client.
    owner: Option<Arc<str>>,
    entered: bool,
}

impl ServerAgents {
    /// Creates the agents of a match.
    pub fn new(agents: Vec<Option<TimedAgent>>) -> Self {
        let replies = agents.iter().map(|_| None).collect();
        ServerAgents { agents, replies, owner: None, entered: false }
    }

    /// Notifies the agents of the start of the match.
    pub fn enter(&mut self) {
        self.entered = true;
        self.agents.iter().flatten().for_each(|(agent, _)| agent.enter());
    }

    /// Seats the missing agents, by seat. Returns false if none was missing.
    pub fn provide(&mut self, agents: Vec<Option<TimedAgent>>) -> bool {
        let mut any = false;
        for (place, agent) in self.agents.iter_mut().zip(agents).filter(|(place, _)| place.is_none()) {
            if let Some((agent, _)) = agent.as_ref().filter(|_| self.entered) {
                agent.enter();
            }
            any |= agent.is_some();
            *place = agent;
        }
        any
    }

    fn agent(&self, seat: Seat) -> Option<&TimedAgent> {
        self.agents.get(seat).and_then(Option::as_ref)
    }

    /// Returns true if the agent on `seat` replies so fast that it need not run in the compute pool.
    pub fn is_quick(&self, seat: Seat) -> bool {
        self.agent(seat).is_some_and(|(agent, pace)| pace.is_quick() && !agent.is_io_bound())
    }

    /// Requests the move of the agent on `seat` and waits for the reply. `None` if no request is pending.
    pub fn ask_now(&self, machine: &mut MatchMachine, now: u64, limit_ms: u64, seat: Seat) -> Option<Input> {
        let (turn, act) = self.request(machine, now, limit_ms, seat)?;
        Some(Input::Agent { seat, turn, did: outcome(caught("agent", act)) })
    }

    /// Requests the move of the agent on `seat`, on a separate thread if the agent blocks on I/O, else in the pool. The
    /// reply is sent to the match. If the agent's time runs out, the machine ends the turn and drops the late reply.
    pub fn ask(
        &mut self,
        machine: &mut MatchMachine,
        now: u64,
        limit_ms: u64,
        seat: Seat,
        handle: &MatchHandle,
        compute: &Compute,
    ) {
        let waits = self.agent(seat).is_some_and(|(agent, _)| agent.is_io_bound());
        let Some((turn, act)) = self.request(machine, now, limit_ms, seat) else { return };
        let owner = self.owner.get_or_insert_with(|| handle.owner()).clone();
        let (handle, compute) = (handle.clone(), compute.clone());
        let reply = tokio::spawn(async move {
            let thought = if waits { compute.wait(act).await } else { compute.run(&owner, act).await };
            // A stopped job means that the server is stopping. The request is repeated after the restart.
            if thought != Err(JobError::Stopped) {
                handle.send(MatchCommand::Input(Input::Agent { seat, turn, did: outcome(thought) }));
            }
        });
        // The previous request may have timed out while its search is still running; that search stops now.
        let earlier = self.replies.get_mut(seat).and_then(|pending| pending.replace(reply.abort_handle()));
        earlier.into_iter().for_each(|earlier| earlier.abort());
    }

    /// Returns the turn number of the agent on `seat`, and a closure that computes the agent's reply.
    fn request(
        &self,
        machine: &mut MatchMachine,
        now: u64,
        limit_ms: u64,
        seat: Seat,
    ) -> Option<(u32, impl FnOnce() -> Reply + Send + use<>)> {
        let (agent, pace) = self.agent(seat)?.clone();
        let request = machine.agent_request(now, seat, &*agent, limit_ms)?;
        let (turn, left) = (request.turn, Duration::from_millis(request.left_ms));
        let deadline = Instant::now().checked_add(left - WAY.min(left / 10));
        let act = move || {
            // In a simulation, agents take no time, so that a busy machine does not change the pace.
            let from = tokio::time::Instant::now();
            let budget = Budget::default().with_deadline(deadline).with_scheduler(Some(&CurrentJob));
            let reply = agent.act(&request.ask().with_budget(budget));
            pace.measure(from.elapsed());
            reply
        };
        Some((turn, act))
    }

    /// Stops pending searches, and notifies the agents of the end of the match.
    pub fn leave(&mut self) {
        self.replies.iter_mut().filter_map(Option::take).for_each(|reply| reply.abort());
        if std::mem::take(&mut self.entered) {
            self.agents.iter().flatten().for_each(|(agent, _)| agent.leave());
        }
    }
}

impl Drop for ServerAgents {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Converts an agent's reply or error to the outcome of its turn.
fn outcome(thought: Result<Reply, JobError>) -> AgentOutcome {
    match thought {
        Ok(reply) => AgentOutcome::from(reply),
        Err(error) => AgentOutcome::Failed { reason: EndReason::AgentError, message: error.to_string() },
    }
}
