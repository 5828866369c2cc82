//! What an earlier run tells of the calls of its language models: how many moves a match took, how many calls, and what they used.

use std::collections::{BTreeMap, HashMap, HashSet};

use ludex_agents::llm::{self, Forecast};
use ludex_agents::{AgentError, AgentSpec};
use ludex_protocol::record::Record;

use crate::runs::archive::Archive;
use crate::runs::rebuilt_plan::RebuiltPlan;
use crate::runs::usage::Usage;

/// The calls of an earlier run by model and game. A model is its spec in the part, without endpoints' limits and prices, so that
/// another way of prompting is another model.
#[derive(Clone, Debug, Default)]
pub struct Pilot {
    found: HashMap<(String, String), Spent>,
}

/// What the matches of a model in a game used, all calls together. A match in which it has two seats counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    matches: u64,
    moves: u64,
    usage: Usage,
}

impl Pilot {
    /// Reads the calls of the matches of a run that have ended.
    ///
    /// # Errors
    /// A suite, an agent or a game that this version cannot read, or a run without calls.
    pub fn of(run: &Archive) -> anyhow::Result<Pilot> {
        let ground = RebuiltPlan::of(run)?;
        let records: Vec<Record> = run.found.iter().filter_map(|found| found.parts.clone().record().ok()).collect();
        let walk = ground.walk(run, &records);
        let mut found: HashMap<(String, String), Spent> = HashMap::new();
        // Matches in which a model was asked nothing count too.
        for planned in &walk.done {
            let game = &ground.parts[planned.part].game(planned.turn).spec().game;
            for spec in planned.seats.iter().filter_map(|who| ground.specs.get(&(planned.part, *who))) {
                found.entry(key(spec, game)).or_default().matches += 1;
            }
        }
        for (episode, calls) in &run.calls {
            let Some(planned) = walk.of_episode(&run.about.run, episode) else { continue };
            let game = &ground.parts[planned.part].game(planned.turn).spec().game;
            let mut moves: BTreeMap<usize, HashSet<u32>> = BTreeMap::new();
            for line in calls {
                let Some(spec) = planned.seats.get(line.seat).and_then(|who| ground.specs.get(&(planned.part, *who)))
                else {
                    continue;
                };
                let spent = found.entry(key(spec, game)).or_default();
                spent.usage.add(&line.call);
                spent.moves += u64::from(moves.entry(line.seat).or_default().insert(line.key.turn));
            }
        }
        found.retain(|_, spent| spent.moves > 0);
        anyhow::ensure!(!found.is_empty(), "run {} has no match with calls of a language model", run.about.run);
        Ok(Pilot { found })
    }

    /// What the matches of a model in a game used, if it played that game there.
    pub(super) fn spent(&self, spec: &AgentSpec, game: &str) -> Option<Spent> {
        self.found.get(&key(spec, game)).copied()
    }
}

fn key(spec: &AgentSpec, game: &str) -> (String, String) {
    (llm::without_prices(&llm::without_transport_args(spec)).to_string(), game.to_owned())
}

impl Spent {
    /// The mean of a match, at the prices of a spec.
    ///
    /// # Errors
    /// A spec of another agent.
    pub(super) fn forecast(&self, spec: &AgentSpec) -> Result<Forecast, AgentError> {
        let usage = &self.usage;
        let mean = |sum: u64| sum as f64 / self.matches as f64;
        let usd = llm::usd(spec, usage.tokens_in, usage.cached_tokens, usage.tokens_out)?;
        Ok(Forecast {
            calls: mean(usage.calls),
            tokens_in: mean(usage.tokens_in),
            tokens_cached: mean(usage.cached_tokens),
            tokens_out: mean(usage.tokens_out),
            usd: usd.map(|usd| usd / self.matches as f64),
        })
    }

    /// Its moves in a match.
    pub(super) fn moves(&self) -> f64 {
        self.moves as f64 / self.matches as f64
    }

    /// Seconds of waiting in a match.
    pub(super) fn seconds(&self) -> f64 {
        self.usage.seconds / self.matches as f64
    }
}
