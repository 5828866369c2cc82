//! Settings of a run, and the differences from later settings.

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_agents::{AgentSpec, llm};
use ludex_referee::schedule::{Deals, Seeds};
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Entrant, Plan, seeds};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::shard::Shard;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::spec_in;

/// Settings of a run, frozen when it is created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// Program and version that created the run.
    pub ludex: String,
    /// Name of the run.
    pub run: String,
    pub kind: RunKind,
    pub suite: SuiteId,
    /// All agents that play. Episode names contain indices into this list.
    pub agents: Vec<RunAgent>,
    /// Source of the seeds.
    pub seeds: RunSeeds,
    /// Seed sharing within a block. Runs of older versions lack this key; their blocks share seeds.
    pub deals: Deals,
    /// Factor applied to the block counts of the suite.
    pub scale: f64,
    /// Parts to play; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Agents in the suite's roles.
    #[serde(skip_serializing_if = "RoleAssignment::is_empty")]
    pub roles: RoleAssignment,
    /// Share of the plan to play; `None`: the whole plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Rules hash of each game by canonical game string.
    pub games: BTreeMap<String, String>,
    /// Prompt hash of each language model by part and agent.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// Version of the prompt wording ([`llm::PROMPT_VERSION`]); 0 in runs of older builds.
    #[serde(skip_serializing_if = "is_zero")]
    pub wording: u32,
    /// True if records contain digests of their language model calls, as all runs of this version do.
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
    /// Digest of its text.
    pub digest: String,
}

/// Agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunAgent {
    pub name: String,
    pub spec: String,
    /// Digest of its program; empty if it starts none.
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
    /// Public number of the suite, the same for every run of it.
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
    /// Returns the bytes of the secret, if there is one.
    pub fn secret(&self) -> Option<Vec<u8>> {
        match self {
            RunSeeds::Open(_) => None,
            // Text that is not hex counts as raw bytes.
            RunSeeds::Secret(text) => Some(hex::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())),
        }
    }
}

impl RunSettings {
    /// Returns the settings for a run of a suite.
    ///
    /// # Errors
    /// Returns an error for an agent that cannot play its part.
    pub fn of_plan(run: &str, plan: &Plan, text: &str, from: RunSeeds, scale: f64) -> anyhow::Result<RunSettings> {
        let Suite { name, version, .. } = &plan.suite;
        let agent = |e: &Entrant| {
            Ok(RunAgent {
                name: e.name.clone(),
                spec: e.spec.clone(),
                program: program(&AgentSpec::parse(&e.spec)?)?,
                candidate: e.candidate,
                variant: e.variant.is_some(),
            })
        };
        let games = plan.parts.iter().flat_map(|p| &p.games);
        let games = games.map(|game| (game.spec().string.clone(), game.spec().hash.clone()));
        let mut prompts = BTreeMap::new();
        for (at, part) in plan.parts.iter().enumerate() {
            // Opponents may be language models too.
            for who in part.pairings().into_iter().flat_map(|(pairing, _)| pairing) {
                let spec = spec_in(plan, at, who)?;
                for game in part.games.iter().filter(|_| spec.class() == ludex_agents::AgentClass::Model) {
                    let swept = if part.games.len() > 1 { format!(", {}", game.spec().string) } else { String::new() };
                    let name = format!("{}{swept} of {}", part.part.id, plan.agents[who].name);
                    prompts.insert(name, llm::prompt_digest(&spec, game)?);
                }
            }
        }
        Ok(RunSettings {
            ludex: crate::PROGRAM.into(),
            run: run.to_owned(),
            kind: RunKind::Evaluate,
            suite: SuiteId { name: name.clone(), version: *version, digest: Suite::digest(text) },
            agents: plan.agents.iter().map(agent).collect::<anyhow::Result<_>>()?,
            seeds: from,
            deals: plan.suite.deals,
            scale,
            only: Vec::new(),
            roles: plan.suite.assigned_roles(),
            shard: plan.shard,
            games: games.collect(),
            prompts,
            calls_bound: true,
            wording: llm::PROMPT_VERSION,
            begun: crate::time::now_text(),
        })
    }

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

    /// Returns the settings that changed since the run was created, each with both values.
    pub fn differences(&self, now: &RunSettings) -> Vec<String> {
        let mut out = Vec::new();
        let mut differ = |what: &str, was: String, is: String| {
            if was != is {
                out.push(format!("{what}: was {was}, is {is}"));
            }
        };
        let suite = |s: &SuiteId| format!("{} version {} ({})", s.name, s.version, s.digest);
        let seeds = |s: &RunSeeds| match s {
            RunSeeds::Open(n) => format!("open ({n})"),
            RunSeeds::Secret(text) => format!("a secret ({})", Suite::digest(text)),
        };
        differ("version", self.ludex.clone(), now.ludex.clone());
        differ("kind", format!("{:?}", self.kind), format!("{:?}", now.kind));
        differ("suite", suite(&self.suite), suite(&now.suite));
        differ("seeds", seeds(&self.seeds), seeds(&now.seeds));
        differ("deals", self.deals.to_string(), now.deals.to_string());
        differ("scale", self.scale.to_string(), now.scale.to_string());
        differ("parts", self.only.join(", "), now.only.join(", "));
        for role in self.roles.keys().chain(now.roles.keys().filter(|role| !self.roles.contains_key(*role))) {
            let agents = |s: &RunSettings| s.roles.get(role).map_or_else(|| "none".to_owned(), |agents| names(agents));
            differ(&format!("role {role}"), agents(self), agents(now));
        }
        let shard = |s: &RunSettings| s.shard.map_or_else(|| "none".to_owned(), |shard| shard.to_string());
        differ("shard", shard(self), shard(now));
        differ("number of agents", self.agents.len().to_string(), now.agents.len().to_string());
        for (was, is) in self.agents.iter().zip(&now.agents) {
            differ("agent", was.name.clone(), is.name.clone());
            differ(
                &format!("spec of {}", was.name),
                without_transport_args(&was.spec),
                without_transport_args(&is.spec),
            );
            differ(&format!("program of {}", was.name), was.program.clone(), is.program.clone());
        }
        let mut maps = |what: &str, was: &BTreeMap<String, String>, is: &BTreeMap<String, String>| {
            for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
                let of = |map: &BTreeMap<String, String>| map.get(key).cloned().unwrap_or_else(|| "none".into());
                differ(&format!("{what} {key}"), of(was), of(is));
            }
        };
        maps("rules of", &self.games, &now.games);
        // Different agents are listed above, so their prompts are not.
        if self.agents.iter().map(|a| &a.name).eq(now.agents.iter().map(|a| &a.name)) {
            maps("prompts of", &self.prompts, &now.prompts);
            let reworded = self.wording != now.wording && !self.prompts.is_empty();
            out.extend(reworded.then(|| format!("wording of prompts: was {}, is {}", self.wording, now.wording)));
        }
        out
    }
}

/// Returns the names of the agents in a role, separated by commas.
pub(crate) fn names(agents: &[RoleAgent]) -> String {
    agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Returns a spec without the arguments that may change during a run.
fn without_transport_args(text: &str) -> String {
    AgentSpec::parse(text).map_or_else(|_| text.to_owned(), |spec| llm::without_transport_args(&spec).to_string())
}

/// Returns a digest of the program that an agent starts: shortened SHA-256 over the files named in its command line.
/// The digest is empty without such files, or if the agent starts no program.
///
/// # Errors
/// Returns an error for a command line with unbalanced quotes.
pub fn program(spec: &AgentSpec) -> anyhow::Result<String> {
    let Some(cmd) = spec.text("cmd") else { return Ok(String::new()) };
    let words = shlex::split(&cmd).with_context(|| format!("cmd: expected balanced quotes, got {cmd:?}"))?;
    let mut hash = Sha256::new();
    let mut any = false;
    for word in words {
        if let Ok(bytes) = std::fs::read(&word) {
            hash.update(Sha256::digest(bytes));
            any = true;
        }
    }
    Ok(if any { hex::encode(&hash.finalize()[..8]) } else { String::new() })
}
