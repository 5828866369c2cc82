//! Matches between in-process agents, without sockets, store or waiting: the server's match machine, driven in
//! virtual time.
//!
//! A match is a function of its game, players and seed: records of repeated matches differ only in `started` and
//! `ended`. The match clock advances only while an agent whose replies are not reproducible computes.

mod check;
mod compute_slots;
mod participant;
mod run_match;
mod series;

use std::sync::Arc;

use ludex_agents::Agent;
use ludex_env::GameRef;
use ludex_protocol::record::RecordSeat;

pub use self::check::{Unfit, check};
pub use self::compute_slots::Turns;
pub use self::participant::{Participant, kind_of};
pub use self::run_match::{
    HostOptions, Journals, PlayedMatch, auto_play_forced, block_key, faults_as_infra, play_match, play_observed, setup,
};
pub use self::series::Series;
use crate::machine::MatchMachine;

/// Returns the number of cores available to this process.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Default number of parallel matches with a batched agent. More parallel matches need fewer batches.
pub const GATHERED_JOBS: usize = 1024;

/// Agent as an argument of [`play`].
#[derive(Clone)]
pub enum AgentInput {
    /// Built-in agent by its spec.
    Spec(String),
    /// Agent implemented by the caller, named `agent` in records.
    Own(Arc<dyn Agent>),
}

impl From<&str> for AgentInput {
    fn from(spec: &str) -> Self {
        AgentInput::Spec(spec.to_owned())
    }
}

impl From<Arc<dyn Agent>> for AgentInput {
    fn from(agent: Arc<dyn Agent>) -> Self {
        AgentInput::Own(agent)
    }
}

/// Plays one match of `game` between `agents`, one per seat, in seat order. Equal agents and equal seeds give equal
/// moves. The footer of the record has the returns and the reason for the end.
///
/// # Errors
/// Returns an error for an unknown spec or a wrong number of agents. An agent that fails during the match is not an
/// error: it loses, and [`PlayedMatch::failure`] holds the reason.
pub fn play<A: Into<AgentInput>>(
    game: &GameRef,
    agents: impl IntoIterator<Item = A>,
    seed: u64,
) -> anyhow::Result<PlayedMatch> {
    let (mut seats, mut specs, mut playing) = (Vec::new(), Vec::new(), Vec::new());
    for agent in agents {
        let (seat, agent) = match agent.into() {
            AgentInput::Spec(text) => {
                let seated = Participant::new(&text, game)?;
                (seated.record_seat(), seated.agent)
            }
            AgentInput::Own(agent) => (RecordSeat { name: "agent".into(), ..RecordSeat::default() }, agent),
        };
        specs.push(seat.spec.clone().unwrap_or_else(|| seat.name.clone()));
        seats.push(seat);
        playing.push(agent);
    }
    let spec = game.spec();
    let given = seats.len();
    anyhow::ensure!(
        given == spec.players as usize,
        "agents of {}: expected {}, got {given}",
        spec.string,
        spec.players
    );
    let peeks = playing.iter().any(|agent| agent.needs_full_state());
    let setup = run_match::terms(game, seats, peeks, seed, &run_match::block_of(game, specs, seed), 0);
    let agents: Vec<&dyn Agent> = playing.iter().map(|agent| &**agent).collect();
    Ok(run_match::run(MatchMachine::new(setup, 0), &agents, HostOptions::default(), |_, _| {}))
}
