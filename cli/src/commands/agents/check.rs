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

/// Checks agents and returns true if all passed. Without a game, a language model is checked by calls to its endpoint.
pub(super) fn run(agents: &str, game: Option<&str>, data: &Path, as_json: bool) -> anyhow::Result<bool> {
    let candidates = candidates(agents, data)?;
    if let [Candidate::Spec { name, spec }] = candidates.as_slice()
        && spec.class() == AgentClass::Model
        && game.is_none()
    {
        return probe::run(name, spec, data, as_json);
    }
    if let ([Candidate::Unknown { why, .. }], None) = (candidates.as_slice(), game) {
        anyhow::bail!("{why}");
    }
    let game = game.context("expected --game, e.g. --game connect_four")?;
    check_all(&candidates, &ludex_games::load(game)?, as_json)
}

fn check_all(candidates: &[Candidate], game: &GameRef, as_json: bool) -> anyhow::Result<bool> {
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

/// Agent to check. Bots in files are compiled first.
enum Candidate {
    Spec {
        name: String,
        spec: AgentSpec,
    },
    File {
        name: String,
        bot: BotProgram,
    },
    /// Text that is not a name, a file or a spec, with the reason.
    Unknown {
        text: String,
        why: String,
    },
}

/// Resolves `agents` as a name, then as a file or folder of bots, then as a spec.
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
                anyhow::bail!("{text}: expected a bot or a folder of bots: {}", agents_file::BOTS);
            }
            return Ok(bots.into_iter().map(|bot| Candidate::File { name: bot.name.clone(), bot }).collect());
        }
        _ => {}
    }
    Ok(vec![match known.resolve(text, data) {
        Ok((name, spec)) => Candidate::Spec { name, spec },
        Err(e) => Candidate::Unknown { text: text.to_owned(), why: format!("{e:#}") },
    }])
}

impl Candidate {
    fn name(&self) -> &str {
        match self {
            Candidate::Spec { name, .. } | Candidate::File { name, .. } => name,
            Candidate::Unknown { text, .. } => text,
        }
    }

    /// Checks the agent and returns its fault, if any.
    fn fault(&self, game: &GameRef) -> Option<String> {
        match self {
            Candidate::Spec { spec, .. } => play(&spec.to_string(), game),
            Candidate::File { bot, .. } => {
                let folder = tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"));
                let line = folder.as_ref().map_err(String::clone).and_then(|folder| bot.build(folder.path()));
                match line {
                    Ok(line) => play(&agents_file::program(&line), game),
                    Err(why) => Some(why),
                }
            }
            Candidate::Unknown { why, .. } => Some(why.clone()),
        }
    }
}

fn play(text: &str, game: &GameRef) -> Option<String> {
    match Participant::new(text, game) {
        Ok(player) if player.spec.class() == AgentClass::Person => Some("expected an agent, got a person".to_owned()),
        Ok(player) => check(player, game, None).err().map(|unfit| unfit.why),
        Err(e) => Some(e.to_string()),
    }
}
