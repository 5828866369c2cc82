//! What a run was begun with, and what of it is no more the same.

use std::collections::BTreeMap;

use ludex_agents::{AgentSpec, llm};
use ludex_env::Games;
use ludex_referee::schedule::Seeds;
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Plan, seeds};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::spec_in;

/// The settings of a run, frozen when it begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The program that began it.
    pub ludex: String,
    /// Its name.
    pub run: String,
    /// What kind of run it is.
    pub kind: Kind,
    /// The suite.
    pub suite: SuiteId,
    /// Everybody who plays; episodes name them by their place here.
    pub agents: Vec<AgentId>,
    /// Where seeds come from.
    pub seeds: RunSeeds,
    /// What numbers of blocks are multiplied with.
    pub scale: f64,
    /// The rules of the games: hash by canonical game string.
    pub games: BTreeMap<String, String>,
    /// What language models are told: hash by part and agent.
    #[serde(default)]
    pub prompts: BTreeMap<String, String>,
    /// When it was begun, UTC in RFC 3339.
    pub begun: String,
}

/// What kind of run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `ludex evaluate`.
    #[default]
    Evaluate,
    /// `ludex tournament`.
    Tournament,
}

/// A suite by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteId {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// What names its text.
    pub digest: String,
}

/// An agent of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentId {
    /// What it is called.
    pub name: String,
    /// How it is written.
    pub spec: String,
    /// What names its program, if it starts one.
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
            // What is no hex is a secret all the same: its letters.
            RunSeeds::Secret(text) => Some(hex::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())),
        }
    }
}

impl Settings {
    /// The settings of a suite's run.
    ///
    /// # Errors
    /// An agent that cannot play its part.
    pub fn of_plan(run: &str, plan: &Plan, text: &str, from: RunSeeds, scale: f64) -> anyhow::Result<Settings> {
        let Suite { name, version, .. } = &plan.suite;
        let agent = |e: &ludex_referee::suite::plan::Entrant| AgentId {
            name: e.name.clone(),
            spec: e.spec.clone(),
            program: AgentSpec::parse(&e.spec).map_or_else(|_| String::new(), |spec| program(&spec)),
            candidate: e.candidate,
            variant: e.variant.is_some(),
        };
        let games = plan.parts.iter().map(|p| (p.game.spec().string.clone(), p.game.spec().hash.clone()));
        let mut prompts = BTreeMap::new();
        for (at, part) in plan.parts.iter().enumerate() {
            // Models that are opponents are told something too.
            for who in part.pairings().into_iter().flat_map(|(pairing, _)| pairing) {
                let spec = spec_in(plan, at, who)?;
                if spec.class() == ludex_agents::AgentClass::Model {
                    let digest = llm::prompt_digest(&spec, &part.game)?;
                    prompts.insert(format!("{} of {}", part.part.id, plan.agents[who].name), digest);
                }
            }
        }
        Ok(Settings {
            ludex: crate::PROGRAM.into(),
            run: run.to_owned(),
            kind: Kind::Evaluate,
            suite: SuiteId { name: name.clone(), version: *version, digest: Suite::digest(text) },
            agents: plan.agents.iter().map(agent).collect(),
            seeds: from,
            scale,
            games: games.collect(),
            prompts,
            begun: crate::time::now_text(),
        })
    }

    /// Where the seeds of a part come from.
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
        Ok(Plan::new(Suite::parse(suite, &games)?, &candidates, self.scale, &games)?)
    }

    /// What is not as it was when the run was begun: each setting by name, with both values.
    pub fn differences(&self, now: &Settings) -> Vec<String> {
        let mut out = Vec::new();
        let mut differ = |what: &str, was: String, is: String| {
            if was != is {
                out.push(format!("{what}: was {was}, is {is}"));
            }
        };
        let suite = |s: &SuiteId| format!("{} version {} ({})", s.name, s.version, s.digest);
        let seeds = |s: &RunSeeds| match s {
            RunSeeds::Open(n) => format!("open ({n})"),
            RunSeeds::Secret(_) => {
                format!("a secret ({})", Suite::digest(&serde_json::to_string(s).unwrap_or_default()))
            }
        };
        differ("version", self.ludex.clone(), now.ludex.clone());
        differ("kind", format!("{:?}", self.kind), format!("{:?}", now.kind));
        differ("suite", suite(&self.suite), suite(&now.suite));
        differ("seeds", seeds(&self.seeds), seeds(&now.seeds));
        differ("scale", self.scale.to_string(), now.scale.to_string());
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
        // Other agents have other prompts, and that has been said.
        if self.agents.iter().map(|a| &a.name).eq(now.agents.iter().map(|a| &a.name)) {
            maps("prompts of", &self.prompts, &now.prompts);
        }
        out
    }
}

/// A spec without what may change while a run goes on.
fn essence(text: &str) -> String {
    AgentSpec::parse(text).map_or_else(|_| text.to_owned(), |spec| llm::essence(&spec).to_string())
}

/// What names the program of an agent that starts one: SHA-256, shortened, over the files that its command line names; empty where
/// it names none.
pub fn program(spec: &AgentSpec) -> String {
    let Some(cmd) = spec.text("cmd") else { return String::new() };
    let mut hash = Sha256::new();
    let mut any = false;
    for word in shlex::split(&cmd).unwrap_or_default() {
        if let Ok(bytes) = std::fs::read(&word) {
            hash.update(Sha256::digest(bytes));
            any = true;
        }
    }
    if any { hex::encode(&hash.finalize()[..8]) } else { String::new() }
}
