//! Pilot run: usage of language models (moves, calls and cost per match) in an earlier run.

use std::collections::{BTreeMap, HashMap, HashSet};

use ludex_agents::llm::{self, Forecast};
use ludex_agents::{AgentError, AgentSpec};
use ludex_protocol::record::Record;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::usage::Usage;

use crate::runs::rebuilt_plan::RebuiltPlan;

/// Usage in an earlier run, by model and game. A model is identified by its spec in the part, without endpoint limits
/// and prices. Different prompting methods thus count as different models.
#[derive(Clone, Debug, Default)]
pub struct Pilot {
    found: HashMap<(String, String), Spent>,
}

/// Usage of a model in all its matches of a game. A match in which the model plays two seats counts as two matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spent {
    matches: u64,
    moves: u64,
    usage: Usage,
    /// Number of matches and usage by part and block. Blocks of different opponents share their seed, so their matches are
    /// not independent.
    blocks: BTreeMap<(usize, u64), (u64, Usage)>,
}

impl Pilot {
    /// Reads the usage from the calls of a run's finished matches.
    ///
    /// # Errors
    /// Returns an error if this version cannot read the suite, an agent or a game, or if the run has no calls.
    pub fn of(run: &Archive) -> anyhow::Result<Pilot> {
        let ground = RebuiltPlan::of(run)?;
        let records: Vec<Record> = run.found.iter().filter_map(|found| found.parts.clone().record().ok()).collect();
        let walk = ground.walk(run, &records);
        let mut found: HashMap<(String, String), Spent> = HashMap::new();
        // Matches in which the model received no request count too.
        for planned in &walk.done {
            let game = &ground.parts[planned.part].game(planned.turn).spec().game;
            for spec in planned.seats.iter().filter_map(|who| ground.specs.get(&(planned.part, *who))) {
                let spent = found.entry(key(spec, game)).or_default();
                spent.matches += 1;
                spent.blocks.entry((planned.part, planned.index)).or_default().0 += 1;
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
                spent.blocks.entry((planned.part, planned.index)).or_default().1.add(&line.call);
                spent.moves += u64::from(moves.entry(line.seat).or_default().insert(line.key.turn));
            }
        }
        found.retain(|_, spent| spent.moves > 0);
        anyhow::ensure!(!found.is_empty(), "expected a run with calls of a language model, got {}", run.about.run);
        Ok(Pilot { found })
    }

    /// Returns the usage of a model in a game; `None` if the model did not play the game.
    pub(super) fn spent(&self, spec: &AgentSpec, game: &str) -> Option<Spent> {
        self.found.get(&key(spec, game)).cloned()
    }
}

/// Returns the key of a model in a game.
pub(super) fn key(spec: &AgentSpec, game: &str) -> (String, String) {
    (llm::without_prices(&llm::without_transport_args(spec)).to_string(), game.to_owned())
}

impl Spent {
    /// Returns the mean usage per match, with cost at the prices in `spec`.
    ///
    /// # Errors
    /// Returns an error if `spec` is not the spec of a language model.
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

    /// Returns the variance of the dollars of `matches` further matches about their estimate from the pilot's `n` blocks of
    /// `c` matches: `matches c s^2 + matches^2 s^2 / n`, where `s` is the standard deviation of the mean match of a block.
    /// `None` without a price, or for fewer than two blocks.
    ///
    /// # Errors
    /// Returns an error if `spec` is not the spec of a language model.
    pub(super) fn variance(&self, spec: &AgentSpec, matches: f64) -> Result<Option<f64>, AgentError> {
        let mut means = Vec::new();
        for (matches, usage) in self.blocks.values() {
            match llm::usd(spec, usage.tokens_in, usage.cached_tokens, usage.tokens_out)? {
                Some(usd) => means.push(usd / *matches as f64),
                None => return Ok(None),
            }
        }
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        let variance = means.iter().map(|usd| (usd - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let size = self.matches as f64 / n;
        Ok((n >= 2.0).then_some(matches * size * variance + matches * matches * variance / n))
    }

    /// Returns the mean number of moves per match.
    pub(super) fn moves(&self) -> f64 {
        self.moves as f64 / self.matches as f64
    }

    /// Returns the mean time spent waiting for the endpoint per match, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.usage.seconds / self.matches as f64
    }
}
