//! Settings of the server from option values: files, suites, agents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use ludex_agents::{AgentClass, AgentSpec};
use ludex_arena::consent::ConsentText;
use ludex_arena::seasons::SuiteSeasons;
use ludex_arena::standing_ladders::LadderTerms;
use ludex_arena::suites::Suites;
use ludex_play::agents_file::{self, AgentSource};
use ludex_play::runs::evaluation::suite_text;
use ludex_server::config::Retention;

use super::Args;

/// Parses the values of `--retain`.
pub(in crate::commands) fn retention(values: &[String]) -> anyhow::Result<Retention> {
    let mut retention = Retention::default();
    for value in values {
        retention.set(value).map_err(|e| anyhow::anyhow!("--retain: {e}"))?;
    }
    Ok(retention)
}

/// Returns the settings of the standing ladder that `text`, a game string or the path of a TOML file, specifies.
pub(super) fn ladder(text: &str) -> anyhow::Result<LadderTerms> {
    if !text.ends_with(".toml") {
        return Ok(LadderTerms::of(text));
    }
    let read = std::fs::read_to_string(text).map_err(anyhow::Error::from);
    read.and_then(|text| LadderTerms::parse(&text)).with_context(|| format!("--ladder {text}"))
}

pub(super) fn season(file: &str) -> anyhow::Result<SuiteSeasons> {
    let read = std::fs::read_to_string(file).map_err(anyhow::Error::from);
    read.and_then(|text| SuiteSeasons::parse(&text)).with_context(|| format!("--season {file}"))
}

pub(super) fn consent(file: &Path) -> anyhow::Result<ConsentText> {
    let read = std::fs::read_to_string(file).map_err(anyhow::Error::from);
    read.and_then(ConsentText::new).with_context(|| format!("--consent {}", file.display()))
}

/// Returns the suites that the server offers.
pub(super) fn offered_suites(given: &[String]) -> anyhow::Result<Suites> {
    if given.is_empty() {
        return Ok(Suites::builtin());
    }
    let names = given.iter().filter(|name| *name != "none");
    names.into_iter().try_fold(Suites::default(), |all, name| {
        all.with(&suite_text(name)?).with_context(|| format!("--suite {name}"))
    })
}

/// Returns the agents of `--agent`, and the networks that `agents.toml` of the data folder names. The other agents of the
/// file may cost money or start programs, so they are offered by `--agent` only.
pub(super) fn offered_agents(args: &Args) -> anyhow::Result<BTreeMap<String, String>> {
    let mut named = parse_agents(&args.agents)?;
    for entry in agents_file::of_data(&args.store.data)?.entries {
        if let AgentSource::Spec(spec) = &entry.source
            && spec.class() == AgentClass::Network
        {
            named.entry(entry.name.clone()).or_insert_with(|| spec.to_string());
        }
    }
    for (name, text) in &named {
        let spec = AgentSpec::parse(text).with_context(|| format!("--agent {name}"))?;
        if spec.class() == AgentClass::Network {
            check_file(&spec).with_context(|| format!("agent {name}"))?;
        }
    }
    Ok(named)
}

/// Checks that the file of a network can be read. A file that fails for the same reason in all games is at fault, not the
/// games' shapes.
fn check_file(spec: &AgentSpec) -> anyhow::Result<()> {
    let mut reasons = BTreeSet::new();
    for entry in ludex_games::games() {
        match spec.build(&ludex_games::load(entry.info.id)?) {
            Ok(_) => return Ok(()),
            Err(refusal) => reasons.insert(refusal.message),
        };
    }
    match reasons.pop_first() {
        Some(reason) if reasons.is_empty() => anyhow::bail!(reason),
        _ => Ok(()),
    }
}

fn parse_agents(agents: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let one = |text: &String| {
        let (name, spec) =
            text.split_once('=').with_context(|| format!("--agent: expected NAME=SPEC, got {text:?}"))?;
        anyhow::ensure!(
            ludex_protocol::is_agent_name(name),
            "--agent: expected a name of 1 to 40 characters of A-Za-z0-9._-, got {name:?}"
        );
        // Records name the operator's agents in place of their specs.
        anyhow::ensure!(
            ludex_agents::Roster::builtin().get(name).is_none(),
            "--agent: expected a name that no built-in agent has, got {name:?}"
        );
        AgentSpec::parse(spec).with_context(|| format!("--agent {name}"))?;
        Ok((name.to_owned(), spec.to_owned()))
    };
    agents.iter().map(one).collect()
}
