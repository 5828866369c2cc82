//! Who may sit in the environments of a session, and what they may cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ludex_agents::{Agent, AgentError, InProcess, wrap};
use ludex_env::GameRef;
use ludex_env::batch::SeatPolicy;
use ludex_protocol::{ErrorCode, Limits, Refusal};

use crate::compute::Compute;
use crate::opponents::Opponents;
use crate::quotas::{Account, Resource, Share};

/// What a session's environments have in common.
#[derive(Clone)]
pub(super) struct GymSeating {
    pub opponents: Arc<Opponents>,
    pub limits: Arc<Limits>,
    pub compute: Compute,
    /// Who is to answer for it.
    pub account: Arc<Account>,
    /// Whether the session is over: searches that still run for it are given up.
    pub gone: Arc<AtomicBool>,
}

/// Who sits in an environment.
#[derive(Clone, Default)]
pub(super) struct EnvPlayers {
    /// The agents' specs as the client wrote them; empty when every seat is the client's.
    pub specs: Vec<String>,
    /// The agents; absent where the client plays.
    pub players: Vec<SeatPolicy>,
    /// The most steps of search that they take for one move in one environment.
    pub search: u64,
}

impl GymSeating {
    /// Room for more environments.
    pub fn share(&self, count: usize) -> Result<Share, Box<Refusal>> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.account.take(Resource::Envs, count, &self.limits).map_err(|e| Box::new(e.path("count")))
    }

    /// Room for the documents of environments.
    pub fn reserve_documents(&self, bytes: usize) -> Result<Share, Box<Refusal>> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.account.take(Resource::Said, bytes, &self.limits).map_err(|e| Box::new(e.path("envs")))
    }

    /// The players of a list of seats in `count` environments; `"agent"` is the client.
    pub fn seated(&self, specs: Vec<String>, game: &GameRef, count: usize) -> Result<EnvPlayers, Box<Refusal>> {
        let spec = game.spec();
        if specs.len() != spec.players as usize {
            let message = format!("{} seats were given, {} has {}", specs.len(), spec.game, spec.players);
            let error = Refusal::new(ErrorCode::BadShape, message).path("seats");
            return Err(Box::new(error.got(specs.len()).allowed(spec.players)));
        }
        let (mut players, mut search) = (Vec::with_capacity(specs.len()), 0);
        for (at, seat) in specs.iter().enumerate() {
            if seat == "agent" {
                players.push(None);
                continue;
            }
            let opponent = self.opponents.seat(seat, game, false).map_err(|e| Box::new(e.path("seats").at(at)))?;
            let steps = self.opponents.steps(&opponent.spec, game);
            search = search.max(steps);
            let agent = if steps > 0 { self.in_turn(opponent.agent) } else { opponent.agent };
            players.push(Some(Arc::new(InProcess(agent)) as _));
        }
        check_search(search, count, &self.limits).map_err(|e| Box::new(e.path("seats")))?;
        Ok(EnvPlayers { specs, players, search })
    }

    /// An agent whose every move waits for its owner's turn to compute. It has the time that agents of the server's have,
    /// and gives up when the session is over.
    fn in_turn(&self, agent: Arc<dyn Agent>) -> Arc<dyn Agent> {
        let GymSeating { compute, account, gone, .. } = self.clone();
        let time = Duration::from_millis(self.opponents.agent_ms);
        Arc::new(wrap(agent, move |agent, ask, _| {
            compute.piece(&account.name, || match gone.load(Ordering::Relaxed) {
                true => Err(AgentError::failed("the session is over")),
                false => agent.act(ask, Instant::now().checked_add(time)),
            })
        }))
    }
}

/// Whether so much search in `count` environments is allowed.
pub(crate) fn check_search(search: u64, count: usize, limits: &Limits) -> Result<(), Refusal> {
    let (sum, most) = (search.saturating_mul(count as u64), limits.search);
    if sum <= most {
        return Ok(());
    }
    let message = format!(
        "{count} at once with {search} steps of search each are {sum}, and this server allows {most}: ask for fewer, or \
         for agents that search less"
    );
    Err(Refusal::new(ErrorCode::Limit, message).got(sum).allowed(most))
}
