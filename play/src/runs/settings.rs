//! The settings that a run was begun with, and how later settings differ from them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_agents::{AgentSpec, llm};
use ludex_env::Games;
use ludex_referee::schedule::{Deals, Seeds};
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Entrant, Plan, seeds};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::shard::Shard;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::spec_in;

/// The settings of a run, frozen when it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The program that began it.
    pub ludex: String,
    /// Its name.
    pub run: String,
    /// Its kind.
    pub kind: RunKind,
    /// The suite.
    pub suite: SuiteId,
    /// All agents that play. Names of episodes hold their indices in this list.
    pub agents: Vec<RunAgent>,
    /// Where seeds come from.
    pub seeds: RunSeeds,
    /// Whether the matches of a block share a seed. Runs of older versions do not say it: theirs do.
    pub deals: Deals,
    /// The numbers of blocks are multiplied by this.
    pub scale: f64,
    /// The parts that are played; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// The agents in the suite's roles.
    #[serde(skip_serializing_if = "RoleAssignment::is_empty")]
    pub roles: RoleAssignment,
    /// The share of the plan that is played, if it is not the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The rules of the games: hash by canonical game string.
    pub games: BTreeMap<String, String>,
    /// The prompts of language models: hash by part and agent.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// The version of the prompts' wording ([`llm::WORDING`]); 0 in runs of older builds.
    #[serde(skip_serializing_if = "is_zero")]
    pub wording: u32,
    /// Whether its records hold the digests of the calls that its language models made. They do in runs of this version.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub calls_bound: bool,
    /// When it was begun, UTC in RFC 3339.
    pub begun: String,
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// `ludex evaluate`.
    #[default]
    Evaluate,
    /// `ludex tournament`.
    Tournament,
}

/// A suite of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteId {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// A digest of its text.
    pub digest: String,
}

/// An agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunAgent {
    /// Its name.
    pub name: String,
    /// Its spec.
    pub spec: String,
    /// A digest of its program, if it starts one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Whether it is under evaluation.
    pub candidate: bool,
    /// Whether it is a variant of a candidate that a part makes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub variant: bool,
}

/// Where the seeds of a run come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSeeds {
    /// The suite's number: the same for everybody who plays the suite.
    Open(u64),
    /// A secret of the run, hex.
    Secret(String),
}

impl Default for RunSeeds {
    fn default() -> Self {
        RunSeeds::Open(0)
    }
}

impl RunSeeds {
    /// The secret, if there is one.
    pub fn secret(&self) -> Option<Vec<u8>> {
        match self {
            RunSeeds::Open(_) => None,
            // A text that is not hex is a secret too: its bytes.
            RunSeeds::Secret(text) => Some(hex::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())),
        }
    }
}

impl RunSettings {
    /// The settings of a suite's run.
    ///
    /// # Errors
    /// An agent that cannot play its part.
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
            // Opponents may be models too.
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
            wording: llm::WORDING,
            begun: crate::time::now_text(),
        })
    }

    /// The seeds of a part's blocks.
    pub fn seeds_of(&self, part: &str) -> Seeds {
        let seed = if let RunSeeds::Open(seed) = self.seeds { seed } else { 0 };
        seeds(&self.suite.name, seed, part, self.seeds.secret().as_deref())
    }

    /// The plan that the run follows, from the text of its suite.
    ///
    /// # Errors
    /// A suite that this version cannot read.
    pub fn plan(&self, suite: &str) -> anyhow::Result<Plan> {
        let own = self.agents.iter().filter(|a| a.candidate && !a.variant);
        let candidates: Vec<(String, String)> = own.map(|a| (a.name.clone(), a.spec.clone())).collect();
        let games = Games::builtin();
        let mut suite = Suite::parse(suite, &games)?;
        suite.fill(&self.roles)?;
        suite.keep_only(&self.only)?;
        suite.deals = self.deals;
        let mut plan = Plan::new(suite, &candidates, self.scale, &games)?;
        plan.shard = self.shard;
        Ok(plan)
    }

    /// The name of its folder: the run's name, and for a shard which one it is.
    pub fn folder(&self) -> String {
        let shard = self.shard.map(|shard| format!(".{}-of-{}", shard.number(), shard.of()));
        format!("{}{}", self.run, shard.unwrap_or_default())
    }

    /// The settings that changed since the run was begun: each by name, with both values.
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
            let agents =
                |s: &RunSettings| s.roles.get(role).map_or_else(|| "nobody".to_owned(), |agents| names(agents));
            differ(&format!("role {role}"), agents(self), agents(now));
        }
        let shard = |s: &RunSettings| s.shard.map_or_else(|| "none".to_owned(), |shard| shard.to_string());
        differ("shard", shard(self), shard(now));
        differ("number of agents", self.agents.len().to_string(), now.agents.len().to_string());
        for (was, is) in self.agents.iter().zip(&now.agents) {
            differ("agent", was.name.clone(), is.name.clone());
            differ(&format!("spec of {}", was.name), essence(&was.spec), essence(&is.spec));
            differ(&format!("program of {}", was.name), was.program.clone(), is.program.clone());
        }
        let mut maps = |what: &str, was: &BTreeMap<String, String>, is: &BTreeMap<String, String>| {
            for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
                let of = |map: &BTreeMap<String, String>| map.get(key).cloned().unwrap_or_else(|| "none".into());
                differ(&format!("{what} {key}"), of(was), of(is));
            }
        };
        maps("rules of", &self.games, &now.games);
        // If the agents differ, their prompts differ too, and the agents have been named above.
        if self.agents.iter().map(|a| &a.name).eq(now.agents.iter().map(|a| &a.name)) {
            maps("prompts of", &self.prompts, &now.prompts);
            let reworded = self.wording != now.wording && !self.prompts.is_empty();
            out.extend(reworded.then(|| format!("wording of prompts: was {}, is {}", self.wording, now.wording)));
        }
        out
    }
}

/// The agents in a role, in words.
pub(crate) fn names(agents: &[RoleAgent]) -> String {
    agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A spec without the arguments that may change during a run.
fn essence(text: &str) -> String {
    AgentSpec::parse(text).map_or_else(|_| text.to_owned(), |spec| llm::essence(&spec).to_string())
}

/// A digest of the program that an agent starts: shortened SHA-256 over the files that its command line names. It is empty
/// if the command line names no files, or the agent starts no program.
///
/// # Errors
/// A command line with quotes that do not match.
pub fn program(spec: &AgentSpec) -> anyhow::Result<String> {
    let Some(cmd) = spec.text("cmd") else { return Ok(String::new()) };
    let words = shlex::split(&cmd).with_context(|| format!("the quotes in the command {cmd:?} do not match"))?;
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
