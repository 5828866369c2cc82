//! `ludex agents`.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Subcommand;
use ludex_agents::programs::{self, Bot};
use ludex_agents::{Kind, list};
use ludex_env::GameRef;
use serde_json::{Value, json};

use super::print;
use crate::local::{Player, check};

/// What `ludex agents` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// List the agents that can be named (the default)
    List,
    /// Make bots ready, let each play against itself and against random, and say who failed and why
    Check {
        /// A bot's file, a folder of bots, or an agent, e.g. "mcts sims=100"
        #[arg(value_name = "DIR|SPEC")]
        agents: String,
        /// The game, e.g. connect_four or "kuhn_poker(players=3)"
        #[arg(long)]
        game: String,
    },
}

/// Exit code 0: all is well, 1: an agent failed, 2: nothing could be checked.
pub(super) fn run(args: Args) -> ExitCode {
    let done = match args.what.unwrap_or(What::List) {
        What::List => roster(args.json).map(|()| true),
        What::Check { agents, game } => checked(&agents, &game, args.json),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) if super::reader_is_gone(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn roster(as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let agents = list().map(|entry| {
            let args = entry
                .args
                .iter()
                .map(|a| json!({ "name": a.name, "doc": a.doc, "default": a.default, "required": a.required }));
            let args: Vec<Value> = args.collect();
            json!({ "name": entry.name, "kind": kind(entry.kind), "doc": entry.doc, "args": args })
        });
        return Ok(print::json(&json!({ "agents": agents.collect::<Vec<_>>() }))?);
    }
    let rows = list().map(|entry| [entry.name, kind(entry.kind), entry.doc].map(str::to_owned).to_vec());
    Ok(print::table(&mut io::stdout().lock(), &rows.collect::<Vec<_>>(), |_| false)?)
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Builtin => "builtin",
        Kind::Anchor => "anchor",
        Kind::Person => "person",
        Kind::External => "external",
        Kind::Model => "model",
    }
}

/// Whether all agents passed.
fn checked(agents: &str, game: &str, as_json: bool) -> anyhow::Result<bool> {
    let game = ludex_env::load(game)?;
    let candidates = candidates(agents)?;
    let mut passed = 0;
    let mut results = Vec::new();
    for candidate in &candidates {
        let fault = candidate.fault(&game);
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

/// Who is checked: bots of files are made ready first.
enum Candidate {
    Spec(String),
    File(Bot),
}

fn candidates(agents: &str) -> anyhow::Result<Vec<Candidate>> {
    let path = PathBuf::from(agents);
    if !path.exists() {
        return Ok(vec![Candidate::Spec(agents.trim().to_owned())]);
    }
    let read = || format!("{agents} cannot be read");
    let bots = programs::bots(&path).with_context(read)?;
    if bots.is_empty() {
        anyhow::bail!("{agents} is no bot and holds none: .py, .js, .cpp, .c, .java, .jar and executables are bots");
    }
    Ok(bots.into_iter().map(Candidate::File).collect())
}

impl Candidate {
    fn name(&self) -> &str {
        match self {
            Candidate::Spec(text) => text,
            Candidate::File(bot) => &bot.name,
        }
    }

    /// What is wrong with it.
    fn fault(&self, game: &GameRef) -> Option<String> {
        match self {
            Candidate::Spec(text) => play(text, game),
            Candidate::File(bot) => {
                let folder = tempfile::tempdir().map_err(|e| format!("no folder to compile in can be made: {e}"));
                let line = folder.as_ref().map_err(String::clone).and_then(|folder| bot.make(folder.path()));
                match line {
                    Ok(line) => play(&spec(&line), game),
                    Err(why) => Some(why),
                }
            }
        }
    }
}

/// The agent that a command line is.
fn spec(line: &str) -> String {
    format!("botzone cmd=\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

fn play(text: &str, game: &GameRef) -> Option<String> {
    match Player::new(text, game) {
        Ok(player) if player.spec.kind() == Kind::Person => Some("a person is not checked".to_owned()),
        Ok(player) => check(player, game).err(),
        Err(e) => Some(e.to_string()),
    }
}
