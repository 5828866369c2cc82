//! `ludex agents`.

mod check;
mod probe;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;
use ludex_agents::{AgentSpec, Roster};
use serde_json::{Value, json};

use super::{CheckResult, print};
use ludex_play::agents_file::{self, AgentSource, Agents, NamedAgent};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
    /// Use the named agents in agents.toml of this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data", global = true)]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// List the agents (the default)
    List,
    /// Add a named agent, optionally with prices of a language model
    Add(Add),
    /// Remove a named agent
    Remove {
        /// Name of the agent
        name: String,
    },
    /// Check that bots compile and play, or that the endpoint of a language model replies
    Check {
        /// File of a bot, folder of bots, name of an agent, or spec, e.g. "mcts sims=100"
        #[arg(value_name = "DIR|NAME|SPEC")]
        agents: String,
        /// Play this game, e.g. connect_four or "kuhn_poker(players=3)"; optional for a language model
        #[arg(long)]
        game: Option<String>,
    },
}

#[derive(clap::Args)]
struct Add {
    /// Name of the agent: 1 to 40 characters of A-Za-z0-9._-
    name: String,
    /// Spec of the agent, e.g. "llm model=small base_url=http://127.0.0.1:8000/v1"
    #[arg(long)]
    spec: String,
    /// Set the price in US dollars per million input tokens [default: unknown]
    #[arg(long, value_name = "USD")]
    price_in: Option<f64>,
    /// Set the price in US dollars per million output tokens [default: unknown]
    #[arg(long, value_name = "USD")]
    price_out: Option<f64>,
    /// Add a human-readable note
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Replace an existing agent of this name
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(args: Args) -> CheckResult {
    let (data, as_json) = (args.data.as_path(), args.json);
    CheckResult(match args.command.unwrap_or(AgentsCommand::List) {
        AgentsCommand::List => list(data, as_json).map(|()| true),
        AgentsCommand::Add(new) => add(data, new, as_json).map(|()| true),
        AgentsCommand::Remove { name } => remove(data, &name, as_json).map(|()| true),
        AgentsCommand::Check { agents, game } => check::run(&agents, game.as_deref(), data, as_json),
    })
}

fn list(data: &Path, as_json: bool) -> anyhow::Result<()> {
    let named = agents_file::of_data(data)?;
    if as_json {
        let agents = Roster::builtin().iter().map(|entry| {
            let args = entry
                .args
                .iter()
                .map(|a| json!({ "name": a.name, "doc": a.doc, "default": a.default, "required": a.required }));
            let args: Vec<Value> = args.collect();
            json!({ "name": entry.name, "kind": entry.class.as_str(), "doc": entry.doc, "args": args })
        });
        let named: Vec<Value> = named.entries.iter().map(document).collect();
        return Ok(print::json(&json!({ "agents": agents.collect::<Vec<_>>(), "named": named }))?);
    }
    let mut out = io::stdout().lock();
    let rows =
        Roster::builtin().iter().map(|entry| [entry.name, entry.class.as_str(), entry.doc].map(str::to_owned).to_vec());
    print::table(&mut out, &rows.collect::<Vec<_>>(), |_| false)?;
    if named.entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} (prices in US dollars per million tokens, measurements per call):", named.path.display())?;
    let head = ["name", "in", "out", "tokens", "seconds", "agent", "note"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(named.entries.iter().map(row)).collect();
    Ok(print::table(&mut out, &rows, |k| (1..5).contains(&k))?)
}

/// Describes the spec or the program of an agent.
fn source(entry: &NamedAgent) -> String {
    match &entry.source {
        AgentSource::Spec(spec) => spec.to_string(),
        AgentSource::Program(bot) => format!("the program {}", bot.name),
    }
}

fn row(entry: &NamedAgent) -> Vec<String> {
    let dash = || "-".to_owned();
    let price = |usd: Option<f64>| usd.map_or_else(dash, |usd| usd.to_string());
    let figures = entry.measured.as_ref();
    vec![
        entry.name.clone(),
        price(entry.price_in),
        price(entry.price_out),
        figures.map_or_else(dash, |m| format!("{:.0} + {:.0}", m.tokens_in, m.tokens_out)),
        figures.map_or_else(dash, |m| print::number(m.seconds, 2)),
        source(entry),
        entry.note.clone().unwrap_or_default(),
    ]
}

fn document(entry: &NamedAgent) -> Value {
    let spec = match &entry.source {
        AgentSource::Spec(spec) => Some(spec.to_string()),
        AgentSource::Program(_) => None,
    };
    let program = match &entry.source {
        AgentSource::Spec(_) => None,
        AgentSource::Program(bot) => Some(&bot.name),
    };
    let measured = entry.measured.as_ref().map(|m| {
        json!({
            "tokens_in": m.tokens_in, "tokens_out": m.tokens_out, "seconds": m.seconds, "schema": m.schema, "at": m.at,
        })
    });
    json!({
        "name": entry.name, "spec": spec, "program": program, "price_in": entry.price_in, "price_out": entry.price_out,
        "note": entry.note, "measured": measured,
    })
}

fn add(data: &Path, new: Add, as_json: bool) -> anyhow::Result<()> {
    let spec = AgentSpec::parse(&new.spec).context("--spec")?;
    let Add { name, price_in, price_out, note, .. } = new;
    for (option, price) in [("--price-in", price_in), ("--price-out", price_out)] {
        let fine = price.is_none_or(|usd| usd.is_finite() && usd >= 0.0);
        anyhow::ensure!(fine, "{option}: expected a finite price of at least 0 US dollars");
    }
    let path = data.join(agents_file::FILE);
    let entry = NamedAgent { name, source: AgentSource::Spec(spec), price_in, price_out, note, measured: None };
    agents_file::add(&path, &entry, new.replace)?;
    let file = agents_file::read(&path)?;
    let entry = file.find(&entry.name).unwrap_or(&entry);
    print_result(
        as_json,
        &document(entry),
        &format!("{} is {}, written to {}", entry.name, source(entry), path.display()),
    )
}

fn remove(data: &Path, name: &str, as_json: bool) -> anyhow::Result<()> {
    let Agents { path, .. } = agents_file::of_data(data)?;
    agents_file::remove(&path, name)?;
    print_result(as_json, &json!({ "removed": name }), &format!("{name} is removed from {}", path.display()))
}

fn print_result(as_json: bool, document: &Value, words: &str) -> anyhow::Result<()> {
    if as_json {
        return Ok(print::json(document)?);
    }
    Ok(writeln!(io::stdout().lock(), "{words}")?)
}
