//! Settings of new runs, and comparison with the settings of existing runs.

use std::collections::BTreeMap;

use anyhow::Context as _;
use ludex_agents::{AgentSpec, llm};
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Entrant, Plan};
use ludex_report::runs::settings::{RunAgent, RunKind, RunSeeds, RunSettings, SuiteId, names};
use sha2::{Digest as _, Sha256};

use super::spec_in;

/// Returns the settings for a new run of a suite.
///
/// # Errors
/// Returns an error if an agent cannot play its part.
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
        left_out: BTreeMap::new(),
        variants: None,
        unrated: false,
        roles: plan.suite.assigned_roles(),
        shard: plan.shard,
        games: games.collect(),
        prompts,
        calls_bound: true,
        wording: llm::PROMPT_VERSION,
        begun: crate::time::now_text(),
    })
}

/// Describes the settings that changed since the run was created, each with the old and the new value.
pub fn differences(was: &RunSettings, now: &RunSettings) -> Vec<String> {
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
    differ("version", was.ludex.clone(), now.ludex.clone());
    differ("kind", format!("{:?}", was.kind), format!("{:?}", now.kind));
    differ("suite", suite(&was.suite), suite(&now.suite));
    differ("seeds", seeds(&was.seeds), seeds(&now.seeds));
    differ("deals", was.deals.to_string(), now.deals.to_string());
    differ("scale", was.scale.to_string(), now.scale.to_string());
    differ("parts", was.only.join(", "), now.only.join(", "));
    for role in was.roles.keys().chain(now.roles.keys().filter(|role| !was.roles.contains_key(*role))) {
        let agents = |s: &RunSettings| s.roles.get(role).map_or_else(|| "none".to_owned(), |agents| names(agents));
        differ(&format!("role {role}"), agents(was), agents(now));
    }
    let variants = |s: &RunSettings| s.variants.as_ref().map_or_else(String::new, |labels| labels.join(", "));
    differ("variants", variants(was), variants(now));
    differ("rated", (!was.unrated).to_string(), (!now.unrated).to_string());
    let shard = |s: &RunSettings| s.shard.map_or_else(|| "none".to_owned(), |shard| shard.to_string());
    differ("shard", shard(was), shard(now));
    differ("number of agents", was.agents.len().to_string(), now.agents.len().to_string());
    for (was, is) in was.agents.iter().zip(&now.agents) {
        differ("agent", was.name.clone(), is.name.clone());
        differ(&format!("spec of {}", was.name), without_transport_args(&was.spec), without_transport_args(&is.spec));
        differ(&format!("program of {}", was.name), was.program.clone(), is.program.clone());
    }
    let mut maps = |what: &str, was: &BTreeMap<String, String>, is: &BTreeMap<String, String>| {
        for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
            let of = |map: &BTreeMap<String, String>| map.get(key).cloned().unwrap_or_else(|| "none".into());
            differ(&format!("{what} {key}"), of(was), of(is));
        }
    };
    maps("rules of", &was.games, &now.games);
    // Prompts are compared only if the agents are equal; different agents are listed above.
    if was.agents.iter().map(|a| &a.name).eq(now.agents.iter().map(|a| &a.name)) {
        maps("prompts of", &was.prompts, &now.prompts);
        let reworded = was.wording != now.wording && !was.prompts.is_empty();
        out.extend(reworded.then(|| format!("wording of prompts: was {}, is {}", was.wording, now.wording)));
    }
    out
}

/// Returns a spec without the arguments that may differ when a run is resumed.
fn without_transport_args(text: &str) -> String {
    AgentSpec::parse(text).map_or_else(|_| text.to_owned(), |spec| llm::without_transport_args(&spec).to_string())
}

/// Returns a digest of the program that an agent starts: a shortened SHA-256 of the files named in the agent's command
/// line. The digest is empty if no files are named or if the agent starts no program.
///
/// # Errors
/// Returns an error if the command line has unbalanced quotes.
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
