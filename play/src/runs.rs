//! Runs: suites and tournaments that are played to their end, however often they are interrupted.
//!
//! A run is a folder. The matches that its files hold are done, and a run that is opened again continues from there. No
//! decision depends on memory alone, so a run may be killed at any moment.

pub mod answer_cache;
pub mod archive;
pub mod audit;
pub mod bundle;
pub mod describe;
pub mod driver;
pub mod episode;
pub mod estimate;
pub mod evaluation;
pub mod executor;
pub mod folder;
pub mod merge;
pub mod metric_rows;
pub mod plan_progress;
pub mod preflight;
mod rebuilt_plan;
pub mod report_files;
pub mod run_files;
pub mod settings;
pub mod signature;
pub mod summary;
pub mod tournament;
pub mod usage;

use std::collections::{BTreeMap, BTreeSet};

use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_env::GameRef;
use ludex_protocol::Refusal;
use ludex_protocol::record::Record;
use ludex_referee::schedule::MatchSeeds;
use ludex_referee::suite::plan::{Block, MatchScore, Plan, Results, seeds};
use ludex_referee::suite::starts::Excerpts;
use ludex_referee::suite::{MatchPolicy, OpponentFault, PartSpec, Suite};

use self::answer_cache::CachePolicy;
use crate::local::{Participant, faults_as_infra};

/// The rules of a run, as functions of the matches that are done: which blocks are due, and what a match counts.
pub trait RunSchedule: Sync {
    /// The blocks that are due, in the order to play them; empty when the run is done. `done` says for each match what it
    /// counts.
    fn next(&self, done: &Results, records: &[Record]) -> Vec<Block>;
    /// What a match counts; it was played at place `turn` of a block of `part`.
    fn judge(&self, part: usize, turn: usize, record: &Record) -> MatchScore;
    /// The part of a match and its place in its block, by its [key](ludex_referee::suite::plan::key).
    fn find(&self, key: &str) -> Option<(usize, usize)>;
    /// How many times a match of a part is replayed after an infrastructure failure.
    fn rematches(&self, part: usize) -> u32;
}

impl RunSchedule for Plan {
    fn next(&self, done: &Results, _: &[Record]) -> Vec<Block> {
        Plan::next(self, done)
    }

    fn judge(&self, part: usize, turn: usize, record: &Record) -> MatchScore {
        self.score_match(part, turn, record)
    }

    fn find(&self, key: &str) -> Option<(usize, usize)> {
        Plan::find(self, key).map(|(part, _, _, turn)| (part, turn))
    }

    fn rematches(&self, part: usize) -> u32 {
        self.suite.policy(&self.parts[part].part).rematches
    }
}

/// A game with the agents that play it.
pub struct GameRoster {
    /// The game.
    pub game: GameRef,
    /// The agents, by their index in the run.
    pub players: BTreeMap<usize, Participant>,
}

/// A part of a run with the agents that play it.
pub struct RunPart {
    /// The part's id; names of episodes hold it.
    pub id: String,
    /// Its games, more than one if it sweeps parameters.
    pub rooms: Vec<GameRoster>,
    /// How many places of a block each game has.
    pub seatings: usize,
    /// How its matches are held.
    pub policy: MatchPolicy,
    /// The seeds of its matches.
    pub seeds: MatchSeeds,
    /// Those of its agents whose failures spoil a match instead of losing it ([`blameless`]): the suite's own opponents that are not
    /// language models, unless its policy says otherwise.
    pub own_opponents: BTreeSet<usize>,
    /// What its matches play, if not the whole game.
    pub excerpts: Excerpts,
    /// Which of its questions are asked once.
    pub once: CachePolicy,
}

impl RunPart {
    /// The game at a place of a block, with its players.
    pub fn room(&self, turn: usize) -> &GameRoster {
        &self.rooms[turn / self.seatings.max(1) % self.rooms.len()]
    }
}

/// The tables of a suite's parts. Every agent is built for every game that it plays, so that an agent that cannot play is
/// found before the first match.
///
/// # Errors
/// An agent that cannot play its part, by name and part, or an argument of the suite for language models that they do not take.
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
                    // What a language model answers is its own doing; its endpoint's failures are nobody's anyway.
                    let own = !entrant.candidate && spec.class() != AgentClass::Model;
                    let agent = if own && policy.opponent_fault == OpponentFault::Discard {
                        own_opponents.insert(who);
                        faults_as_infra(agent)
                    } else {
                        agent
                    };
                    Ok(Participant { name: entrant.name.clone(), agent, spec: llm::essence(&spec) })
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

/// The spec of an agent in a part. A language model, candidate or opponent, takes the suite's arguments for prompts if its own spec does not give
/// them. The arguments of a variant come before all others.
///
/// # Errors
/// An invalid spec, or an argument of the suite that the agent does not accept.
pub fn spec_in(plan: &Plan, part: usize, who: usize) -> anyhow::Result<AgentSpec> {
    let entrant = &plan.agents[who];
    let mut spec = AgentSpec::parse(&entrant.spec)?;
    if spec.class() != AgentClass::Model {
        return Ok(spec);
    }
    let (Suite { llm: all, .. }, PartSpec { llm: own, .. }) = (&plan.suite, &plan.parts[part].part);
    for (name, value) in own.iter().chain(all.iter().filter(|(name, _)| !own.contains_key(*name))) {
        if !spec.gives(name) {
            spec = spec.set(name, &preflight::text(value))?;
        }
    }
    if let Some(variant) = &entrant.variant {
        let set = |spec: AgentSpec, (name, value): (&String, &toml::Value)| spec.set(name, &preflight::text(value));
        spec = variant.llm.iter().try_fold(spec, set).map_err(|e: Refusal| e)?;
    }
    Ok(spec)
}
