//! `ludex agents check`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_agents::programs::{self, BotProgram};
use ludex_agents::{AgentClass, AgentSpec};
use ludex_env::GameRef;
use serde_json::json;

use super::probe;
use crate::commands::print;
use ludex_play::agents_file::{self, AgentSource};
use ludex_play::local::{Participant, check};

/// Whether all agents passed. Language models are asked at their endpoints; they play only if a game is named.
pub(super) fn run(agents: &str, game: Option<&str>, data: &Path, as_json: bool) -> anyhow::Result<bool> {
    let candidates = candidates(agents, data)?;
    if let [Candidate::Spec { name, spec }] = candidates.as_slice()
        && spec.class() == AgentClass::Model
        && game.is_none()
    {
        return probe::run(name, spec, data, as_json);
    }
    if let ([Candidate::Nobody { why, .. }], None) = (candidates.as_slice(), game) {
        anyhow::bail!("{why}");
    }
    let game = game.context("--game is missing: name the game that they play, e.g. --game connect_four")?;
    played(&candidates, &ludex_games::load(game)?, as_json)
}

fn played(candidates: &[Candidate], game: &GameRef, as_json: bool) -> anyhow::Result<bool> {
    let mut passed = 0;
    let mut results = Vec::new();
    for candidate in candidates {
        let fault = candidate.fault(game);
        passed += usize::from(fault.is_none());
        if as_json {
            results.push(json!({ "agent": candidate.name(), "passed": fault.is_none(), "why": fault }));
            continue;
        }
        let mut out = io::stdout().lock();
        match fault {
            None => writeln!(out, "passed  {}", candidate.name())?,
            Some(why) => writeln!(out, "FAILED  {}: {}", candidate.name(), why.replace('\n', "\n        "))?,
        }
    }
    let failed = candidates.len() - passed;
    if as_json {
        let string = &game.spec().string;
        print::json(&json!({ "game": string, "agents": results, "passed": passed, "failed": failed }))?;
    } else if candidates.len() > 1 {
        writeln!(io::stdout().lock(), "{passed} passed, {failed} failed")?;
    }
    Ok(failed == 0)
}

/// An agent to check. Bots of files are compiled first.
enum Candidate {
    Spec {
        name: String,
        spec: AgentSpec,
    },
    File {
        name: String,
        bot: BotProgram,
    },
    /// Neither a name, nor a file, nor an agent; and why.
    Nobody {
        text: String,
        why: String,
    },
}

/// A name comes before a file of that name; anything else is read as a spec.
fn candidates(agents: &str, data: &Path) -> anyhow::Result<Vec<Candidate>> {
    let text = agents.trim();
    let known = agents_file::of_data(data)?;
    let path = PathBuf::from(text);
    match known.find(text).map(|entry| &entry.source) {
        Some(AgentSource::Program(bot)) => {
            return Ok(vec![Candidate::File { name: text.to_owned(), bot: bot.clone() }]);
        }
        None if path.exists() => {
            let bots = programs::bots(&path).with_context(|| format!("{text} cannot be read"))?;
            if bots.is_empty() {
                anyhow::bail!("{text} is not a bot and contains no bots: {}", agents_file::BOTS);
            }
            return Ok(bots.into_iter().map(|bot| Candidate::File { name: bot.name.clone(), bot }).collect());
        }
        _ => {}
    }
    Ok(vec![match known.resolve(text, data) {
        Ok((name, spec)) => Candidate::Spec { name, spec },
        Err(e) => Candidate::Nobody { text: text.to_owned(), why: format!("{e:#}") },
    }])
}

impl Candidate {
    fn name(&self) -> &str {
        match self {
            Candidate::Spec { name, .. } | Candidate::File { name, .. } => name,
            Candidate::Nobody { text, .. } => text,
        }
    }

    /// What is wrong with the agent.
    fn fault(&self, game: &GameRef) -> Option<String> {
        match self {
            Candidate::Spec { spec, .. } => play(&spec.to_string(), game),
            Candidate::File { bot, .. } => {
                let folder = tempfile::tempdir().map_err(|e| format!("no folder to compile in can be created: {e}"));
                let line = folder.as_ref().map_err(String::clone).and_then(|folder| bot.build(folder.path()));
                match line {
                    Ok(line) => play(&agents_file::program(&line), game),
                    Err(why) => Some(why),
                }
            }
            Candidate::Nobody { why, .. } => Some(why.clone()),
        }
    }
}

fn play(text: &str, game: &GameRef) -> Option<String> {
    match Participant::new(text, game) {
        Ok(player) if player.spec.class() == AgentClass::Person => Some("a person cannot be checked".to_owned()),
        Ok(player) => check(player, game, None).err().map(|unfit| unfit.why),
        Err(e) => Some(e.to_string()),
    }
}
