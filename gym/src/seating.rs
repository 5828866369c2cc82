//! Players in the environments of a session, and their search limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentClass, AgentError, AgentPolicy, wrap};
use ludex_env::batch::SeatPolicy;
use ludex_env::{GameRef, Scheduler as _};
use ludex_protocol::{ErrorCode, Limits, Refusal};

use crate::compute::CurrentJob;
use crate::opponents::Opponents;
use crate::quotas::{Account, Resource, Share};

/// Settings that all environments of a session share.
#[derive(Clone)]
pub(super) struct GymSeating {
    pub opponents: Arc<Opponents>,
    pub limits: Arc<Limits>,
    /// Quota account charged for the environments.
    pub account: Arc<Account>,
}

/// Players on the seats of an environment.
#[derive(Clone, Default)]
pub(super) struct EnvPlayers {
    /// Agent specs as the client wrote them; empty if the client plays every seat.
    pub specs: Vec<String>,
    /// Agents by seat; `None` for a seat that the client plays.
    pub players: Vec<SeatPolicy>,
    /// Maximum number of searched plies per move and environment.
    pub search: u64,
}

impl GymSeating {
    /// Reserves quota for `count` more environments.
    pub fn share(&self, count: usize) -> Result<Share, Box<Refusal>> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.account.take(Resource::Envs, count, &self.limits).map_err(|e| Box::new(e.path("count")))
    }

    /// Reserves quota for `bytes` more bytes of documents.
    pub fn reserve_documents(&self, bytes: usize) -> Result<Share, Box<Refusal>> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.account.take(Resource::Documents, bytes, &self.limits).map_err(|e| Box::new(e.path("envs")))
    }

    /// Resolves the players of the seats for `count` environments. The entry `"agent"` stands for
    /// the client.
    pub fn seated(&self, specs: Vec<String>, game: &GameRef, count: usize) -> Result<EnvPlayers, Box<Refusal>> {
        let spec = game.spec();
        if specs.len() != spec.players as usize {
            let message =
                format!("expected one entry per seat, got {}; {} has {} seats", specs.len(), spec.game, spec.players);
            let error = Refusal::new(ErrorCode::BadShape, message).path("seats");
            return Err(Box::new(error.got(specs.len()).allowed(spec.players)));
        }
        let (mut players, mut search) = (Vec::with_capacity(specs.len()), 0);
        for (at, seat) in specs.iter().enumerate() {
            if seat == "agent" {
                players.push(None);
                continue;
            }
            let opponent = self.opponents.seat(seat, game, false).map_err(|e| Box::new(e.path("seats").index(at)))?;
            if opponent.spec.class() == AgentClass::Network && opponent.agent.needs_history() {
                let message = "expected an agent that plays without a history, which environments do not record; got a \
                               recurrent network";
                return Err(Box::new(Refusal::new(ErrorCode::Forbidden, message).path("seats").index(at)));
            }
            let plies = self.opponents.plies(&opponent.spec, game);
            search = search.max(plies);
            let agent = if plies > 0 { self.in_turn(opponent.agent) } else { opponent.agent };
            players.push(Some(Arc::new(AgentPolicy(agent)) as _));
        }
        check_search(search, count, &self.limits).map_err(|e| Box::new(e.path("seats")))?;
        Ok(EnvPlayers { specs, players, search })
    }

    /// Wraps an agent that searches. A search pauses for other jobs, ends when the job that contains the search is
    /// stopped, and has the time limit of server agents.
    fn in_turn(&self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        let time = Duration::from_millis(self.opponents.agent_ms);
        Arc::new(wrap(agent, move |agent, ask| {
            CurrentJob.pause().map_err(|stopped| AgentError::failed(stopped.to_string()))?;
            agent.act(&ask.with_budget(ask.budget().with_deadline(Instant::now().checked_add(time))))
        }))
    }
}

/// Checks that `search` plies per move in `count` environments are within the limits.
pub fn check_search(search: u64, count: usize, limits: &Limits) -> Result<(), Refusal> {
    let (sum, most) = (search.saturating_mul(count as u64), limits.search);
    if sum <= most {
        return Ok(());
    }
    let message = format!(
        "expected at most {most} searched plies per request, got {sum} ({count} times {search}); use fewer agents, or \
         agents that search less"
    );
    Err(Refusal::new(ErrorCode::Limit, message).got(sum).allowed(most))
}
