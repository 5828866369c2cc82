//! Runs: suites and tournaments that can be interrupted and resumed at any time.
//!
//! A run is a folder. Matches recorded in the folder's files are done, and a resumed run plays the other matches.
//! The whole state of a run is in its folder, so the process may be killed at any moment.

pub mod answer_cache;
pub mod audit;
pub mod bundle;
pub mod driver;
pub mod estimate;
pub mod evaluation;
pub mod executor;
pub mod folder;
pub mod labeling;
pub mod merge;
pub mod preflight;
mod rebuilt_plan;
pub mod report_files;
mod run_labels;
pub mod run_metrics;
pub mod settings;
pub mod tournament;
pub mod tuning;

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
    /// Agents by index in the run.
    pub players: BTreeMap<usize, Participant>,
}

/// Part of a run with the agents that play it.
pub struct RunPart {
    /// Id of the part, which is contained in episode names.
    pub id: String,
    /// Games of the part; more than one if the part sweeps parameters.
    pub rooms: Vec<GameRoster>,
    /// Number of matches per game in a block.
    pub seatings: usize,
    pub policy: MatchPolicy,
    pub seeds: MatchSeeds,
    /// Agents whose failures discard a match instead of losing it ([`faults_as_infra`]). By default, these are the
    /// suite's own opponents, except language models.
    pub own_opponents: BTreeSet<usize>,
    /// Excerpts of the game to play instead of whole games, if any.
    pub excerpts: Excerpts,
    /// Policy that selects the move requests whose replies are cached.
    pub caching: CachePolicy,
}

impl RunPart {
    /// Returns the game of the match at position `turn` in a block, with its players.
    pub fn room(&self, turn: usize) -> &GameRoster {
        &self.rooms[turn / self.seatings.max(1) % self.rooms.len()]
    }
}

/// Builds the parts of a suite. Every agent is built for each game that it plays, so that errors are found before the
/// first match.
///
/// # Errors
/// Returns an error if an agent cannot play its part, or if a language model does not accept an argument from the
/// suite.
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
                    // Floating-point results differ between processors, so networks cannot serve as common references.
                    anyhow::ensure!(
                        entrant.candidate || spec.class() != AgentClass::Network,
                        "expected opponents of a suite without networks"
                    );
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
        let caching = CachePolicy::new(&planned.part.cache_answers, match_seeds.of(&[], 0, 0));
        out.push(RunPart {
            id: planned.part.id.clone(),
            rooms,
            seatings: planned.seatings().len(),
            policy: policy.clone(),
            seeds: match_seeds,
            own_opponents,
            excerpts: planned.excerpts.clone(),
            caching,
        });
    }
    Ok(out)
}

/// Returns the spec of the agent `who` in a part. Language models (candidates and opponents) take prompt arguments from
/// the suite unless the agent's own spec sets them. Arguments of a variant have precedence over both.
///
/// # Errors
/// Returns an error for an invalid spec, or if the agent does not accept an argument from the suite.
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
