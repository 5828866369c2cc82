//! Matches among in-process agents, without sockets, store or waiting: the server's own machine, driven to its end in
//! virtual time.
//!
//! A match is a function of its game, its players and its seed; only `started` and `ended` of the record tell one run from
//! another. The match's clock stands still, except while an agent thinks whose answers are not reproducible anyway.

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
pub use self::participant::Participant;
pub(crate) use self::participant::kind_of;
pub use self::run_match::{
    HostOptions, Journals, PlayedMatch, auto_play_forced, block_key, faults_as_infra, play_match, play_observed, setup,
};
pub use self::series::Series;
use crate::machine::MatchMachine;

/// The cores that this machine has for us.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Matches at a time with an agent that gathers questions, if nobody says how many: the more there are, the fewer batches.
pub const GATHERED_JOBS: usize = 1024;

/// An agent for [`play`].
#[derive(Clone)]
pub enum AgentInput {
    /// An agent of the roster, by its spec.
    Spec(String),
    /// An agent of the caller's own. Records call it `agent`.
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

/// Plays one match of `game` to its end between `agents`, one for each seat in order. The same agents and the same seed
/// give the same moves. The record has the returns and the reason of the end in its footer.
///
/// # Errors
/// A spec that the roster does not know, or too few or too many agents. An agent that fails in the match is not an error:
/// it loses, and [`Played::failure`] says why.
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
        "{} has {} seats, {given} agents were given",
        spec.string,
        spec.players
    );
    let peeks = playing.iter().any(|agent| agent.needs_full_state());
    let setup = run_match::terms(game, seats, peeks, seed, &run_match::block_of(game, specs, seed), 0);
    let agents: Vec<&dyn Agent> = playing.iter().map(|agent| &**agent).collect();
    Ok(run_match::run(MatchMachine::new(setup, 0), &agents, HostOptions::default(), |_, _| {}))
}
