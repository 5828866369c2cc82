//! Runs: suites and tournaments that can be interrupted and resumed at any time.
//!
//! A run is a folder. Matches recorded in the files of the folder are done, and a resumed run continues after them.
//! No decision depends on process state alone, so a run may be killed at any moment.

pub mod answer_cache;
pub mod audit;
pub mod bundle;
pub mod driver;
pub mod estimate;
pub mod evaluation;
pub mod executor;
pub mod folder;
pub mod merge;
pub mod preflight;
mod rebuilt_plan;
pub mod report_files;
pub mod settings;
pub mod tournament;

use std::collections::{BTreeMap, BTreeSet};

use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_env::GameRef;
use ludex_protocol::Refusal;
use ludex_referee::schedule::MatchSeeds;
use ludex_referee::suite::plan::{Plan, seeds};
use ludex_referee::suite::starts::Excerpts;
use ludex_referee::suite::{MatchPolicy, OpponentFault, PartSpec, Suite};

use self::answer_cache::CachePolicy;
use crate::local::{Participant, faults_as_infra};

/// Game with the agents that play it.
pub struct GameRoster {
    pub game: GameRef,
    /// Agents by their index in the run.
    pub players: BTreeMap<usize, Participant>,
}

/// Part of a run with the agents that play it.
pub struct RunPart {
    /// Id of the part, contained in the names of its episodes.
    pub id: String,
    /// Games of the part, more than one if it sweeps parameters.
    pub rooms: Vec<GameRoster>,
    /// Positions in a block per game.
    pub seatings: usize,
    pub policy: MatchPolicy,
    pub seeds: MatchSeeds,
    /// Agents whose failures discard a match instead of losing it ([`faults_as_infra`]): the suite's own opponents
    /// that are not language models, unless the suite's policy says otherwise.
    pub own_opponents: BTreeSet<usize>,
    /// Excerpts of the game that its matches play, if any.
    pub excerpts: Excerpts,
    /// Rule for the move requests whose replies are cached.
    pub once: CachePolicy,
}

impl RunPart {
    /// Returns the game at a position of a block, with its players.
    pub fn room(&self, turn: usize) -> &GameRoster {
        &self.rooms[turn / self.seatings.max(1) % self.rooms.len()]
    }
}

/// Builds the parts of a suite. Every agent is built for each of its games, so that an agent that cannot play is
/// found before the first match.
///
/// # Errors
/// Returns an error for an agent that cannot play its part, or an argument of the suite that its language models do
/// not accept.
pub fn tables(plan: &Plan, secret: Option<&[u8]>) -> anyhow::Result<Vec<RunPart>> {
    preflight::arguments(plan)?;
    let mut out = Vec::new();
    for (at, planned) in plan.parts.iter().enumerate() {
        let mut own_opponents = BTreeSet::new();
        let policy = plan.suite.policy(&planned.part);
        let who: BTreeSet<usize> = planned.pairings().into_iter().flat_map(|(pairing, _)| pairing).collect();
        let mut rooms = Vec::new();
        for game in &planned.games {
            let mut players = BTreeMap::new();
            for &who in &who {
                let entrant = &plan.agents[who];
                let player = spec_in(plan, at, who).and_then(|spec| {
                    let agent = spec.build(game)?;
                    // Failures of a model's replies are charged to the model; failures of its endpoint already count
                    // as infrastructure.
                    let own = !entrant.candidate && spec.class() != AgentClass::Model;
                    let agent = if own && policy.opponent_fault == OpponentFault::Discard {
                        own_opponents.insert(who);
                        faults_as_infra(agent)
                    } else {
                        agent
                    };
                    Ok(Participant { name: entrant.name.clone(), agent, spec: llm::without_transport_args(&spec) })
                });
                let player = player.map_err(|e| e.context(format!("{} in part {}", entrant.name, planned.part.id)))?;
                players.insert(who, player);
            }
            rooms.push(GameRoster { game: game.clone(), players });
        }
        let suite = &plan.suite;
        let match_seeds = planned.match_seeds(seeds(&suite.name, suite.seed, &planned.part.id, secret), suite.deals);
        let once = CachePolicy::new(&planned.part.once, match_seeds.of(&[], 0, 0));
        out.push(RunPart {
            id: planned.part.id.clone(),
            rooms,
            seatings: planned.seatings().len(),
            policy: policy.clone(),
            seeds: match_seeds,
            own_opponents,
            excerpts: planned.excerpts.clone(),
            once,
        });
    }
    Ok(out)
}

/// Returns the spec of an agent in a part. Language models, candidates and opponents alike, take prompt arguments
/// from the suite unless their own spec sets them. Arguments of a variant override all others.
///
/// # Errors
/// Returns an error for an invalid spec, or an argument of the suite that the agent does not accept.
pub fn spec_in(plan: &Plan, part: usize, who: usize) -> anyhow::Result<AgentSpec> {
    let entrant = &plan.agents[who];
    let mut spec = AgentSpec::parse(&entrant.spec)?;
    if spec.class() != AgentClass::Model {
        return Ok(spec);
    }
    let (Suite { llm: all, .. }, PartSpec { llm: own, .. }) = (&plan.suite, &plan.parts[part].part);
    for (name, value) in own.iter().chain(all.iter().filter(|(name, _)| !own.contains_key(*name))) {
        if !spec.has_arg(name) {
            spec = spec.set(name, &preflight::text(value))?;
        }
    }
    if let Some(variant) = &entrant.variant {
        let set = |spec: AgentSpec, (name, value): (&String, &toml::Value)| spec.set(name, &preflight::text(value));
        spec = variant.llm.iter().try_fold(spec, set).map_err(|e: Refusal| e)?;
    }
    Ok(spec)
}
