//! Settings of a run.

use std::collections::BTreeMap;

use ludex_referee::schedule::{Deals, Seeds};
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Plan, seeds};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::shard::Shard;
use serde::{Deserialize, Serialize};

/// Settings of a run, which do not change after its creation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// Program and version that created the run.
    pub ludex: String,
    /// Name of the run.
    pub run: String,
    pub kind: RunKind,
    pub suite: SuiteId,
    /// All agents that play. Indices in episode names refer to this list.
    pub agents: Vec<RunAgent>,
    /// Source of the seeds.
    pub seeds: RunSeeds,
    /// Sharing of seeds within a block. Runs of older versions lack this key, and their blocks share seeds.
    pub deals: Deals,
    /// Factor applied to the block counts of the suite.
    pub scale: f64,
    /// Parts to play; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Parts that could not be played, by part, each with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// Agents in the suite's roles.
    #[serde(skip_serializing_if = "RoleAssignment::is_empty")]
    pub roles: RoleAssignment,
    /// Labels of the variants of candidates that play as clients of a server: see [`Suite::play_remotely`]. `None`: local
    /// candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<String>>,
    /// True if the matches do not count for the ratings of the server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unrated: bool,
    /// Share of the plan to play; `None`: the whole plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Rules hash of each game by canonical game string.
    pub games: BTreeMap<String, String>,
    /// Prompt hash of each language model by part and agent.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// Version of the prompt wording of the language model agent; 0 in runs of older builds.
    #[serde(skip_serializing_if = "is_zero")]
    pub wording: u32,
    /// True if records contain digests of their language model calls, as in all runs of this version.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub calls_bound: bool,
    /// Creation time, UTC in RFC 3339.
    pub begun: String,
}

/// Kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Run of `ludex evaluate`.
    #[default]
    Evaluate,
    /// Run of `ludex tournament`.
    Tournament,
}

/// Suite of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteId {
    pub name: String,
    pub version: u32,
    /// Digest of the suite's text.
    pub digest: String,
}

/// Agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunAgent {
    pub name: String,
    pub spec: String,
    /// Digest of the agent's program; empty if the agent starts no program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// True for an agent under evaluation.
    pub candidate: bool,
    /// True for a candidate's variant that a part defines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub variant: bool,
}

/// Source of the seeds of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSeeds {
    /// Public seed of the suite, equal for all runs of the suite.
    Open(u64),
    /// Secret of the run in hex.
    Secret(String),
}

impl Default for RunSeeds {
    fn default() -> Self {
        RunSeeds::Open(0)
    }
}

impl RunSeeds {
    /// Returns the bytes of the secret; `None` if the seeds are public.
    pub fn secret(&self) -> Option<Vec<u8>> {
        match self {
            RunSeeds::Open(_) => None,
            // Text that is not hex counts as raw bytes.
            RunSeeds::Secret(text) => Some(hex::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())),
        }
    }
}

impl RunSettings {
    /// Returns the seeds of a part's blocks.
    pub fn seeds_of(&self, part: &str) -> Seeds {
        let seed = if let RunSeeds::Open(seed) = self.seeds { seed } else { 0 };
        seeds(&self.suite.name, seed, part, self.seeds.secret().as_deref())
    }

    /// Rebuilds the plan of the run from the text of its suite.
    ///
    /// # Errors
    /// Returns an error for a suite that this version cannot parse.
    pub fn plan(&self, suite: &str) -> anyhow::Result<Plan> {
        let own = self.agents.iter().filter(|a| a.candidate && !a.variant);
        let candidates: Vec<(String, String)> = own.map(|a| (a.name.clone(), a.spec.clone())).collect();
        let games = ludex_games::builtin();
        let mut suite = Suite::parse(suite, &games)?;
        suite.fill(&self.roles)?;
        suite.keep_only(&self.only)?;
        if let Some(labels) = &self.variants {
            suite.play_remotely(labels)?;
        }
        suite.deals = self.deals;
        let mut plan = Plan::new(suite, &candidates, self.scale, &games)?;
        plan.shard = self.shard;
        Ok(plan)
    }

    /// Returns the name of the run's folder: the name of the run, with a suffix for a shard.
    pub fn folder(&self) -> String {
        let shard = self.shard.map(|shard| format!(".{}-of-{}", shard.number(), shard.of()));
        format!("{}{}", self.run, shard.unwrap_or_default())
    }
}

/// Returns the names of the agents in a role, separated by commas.
pub fn names(agents: &[RoleAgent]) -> String {
    agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
