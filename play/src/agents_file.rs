//! Named agents with prices and measurements. The agents are read from `agents.toml` in the data folder, or from a file
//! of the same format that lists the entrants of a tournament.
//!
//! ```toml
//! folder = "bots"                   # adds every program in this folder, named after its file
//!
//! [agents.little]
//! spec = "llm model=small base_url=http://127.0.0.1:8000/v1"
//! price_in = 0.5                    # USD per million tokens
//! price_out = 1.5
//! note = "runs under the desk"
//!
//! [agents.mine]
//! file = "work/mine.py"             # a program that speaks Botzone's JSON
//! ```

mod edit;
mod read;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_agents::programs::BotProgram;
use ludex_agents::{AgentClass, AgentSpec, Roster};
use ludex_protocol::error::nearest;
use ludex_protocol::{ErrorCode, Refusal};

pub use edit::{add, keep_measured, remove};
pub use read::BOTS;

/// Name of the agents file in the data folder.
pub const FILE: &str = "agents.toml";

/// Agents listed in one file.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    pub path: PathBuf,
    /// Entries in file order, followed by the programs of the file's `folder`, sorted by name.
    pub entries: Vec<NamedAgent>,
}

/// Entry of an agents file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAgent {
    pub name: String,
    /// Spec or program that implements the agent.
    pub source: AgentSource,
    /// USD per million input tokens, if known.
    pub price_in: Option<f64>,
    /// USD per million output tokens, if known.
    pub price_out: Option<f64>,
    pub note: Option<String>,
    /// Measurements of `ludex agents check`.
    pub measured: Option<MeasuredCalls>,
}

/// Implementation of a named agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSource {
    /// Built-in agent by its spec.
    Spec(AgentSpec),
    /// Program that speaks Botzone's JSON protocol, compiled on first use.
    Program(BotProgram),
}

/// Measurements of a language model endpoint, for cost estimates. Numbers are means over calls.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCalls {
    /// Mean number of prompt tokens per call.
    pub tokens_in: f64,
    /// Mean number of reply tokens per call.
    pub tokens_out: f64,
    /// Mean duration of a call, in seconds.
    pub seconds: f64,
    /// True if the endpoint accepts JSON schemas.
    pub schema: bool,
    /// Time of the measurement, in RFC 3339.
    pub at: String,
}

/// Reads the agents of a file such as `agents.toml`, or the programs of a folder.
///
/// # Errors
/// Returns an error if the file cannot be read or is invalid; the message names the line and the remedy.
pub fn read(path: &Path) -> anyhow::Result<Agents> {
    let entries = if path.is_dir() {
        let entries = read::programs(path, &[])?;
        anyhow::ensure!(!entries.is_empty(), "{}: expected at least one bot, found none; {}", path.display(), BOTS);
        entries
    } else {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        read::agents(path, &text)?
    };
    Ok(Agents { path: path.to_owned(), entries })
}

/// Reads the agents of a data folder. Without an agents file, the list is empty.
///
/// # Errors
/// Same as [`read`].
pub fn of_data(data: &Path) -> anyhow::Result<Agents> {
    let path = data.join(FILE);
    if path.exists() { read(&path) } else { Ok(Agents { path, entries: Vec::new() }) }
}

impl Agents {
    /// Returns the agent named `name`.
    pub fn find(&self, name: &str) -> Option<&NamedAgent> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Resolves a name or a spec to the agent's name and spec. An agent given by spec is named by the canonical text of
    /// that spec. A program is compiled into a subfolder of `into`.
    ///
    /// # Errors
    /// Returns an error if `text` is neither a name nor a spec, or if the program cannot be compiled.
    pub fn resolve(&self, text: &str, into: &Path) -> anyhow::Result<(String, AgentSpec)> {
        let text = text.trim();
        if let Some(entry) = self.find(text) {
            return Ok((entry.name.clone(), entry.spec(into)?));
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        match AgentSpec::parse(text) {
            Ok(spec) => Ok((spec.to_string(), spec)),
            Err(_) if Roster::builtin().get(first).is_none() && !self.entries.is_empty() => {
                let names = self.entries.iter().map(|entry| entry.name.as_str());
                let near = nearest(first, names.clone().chain(Roster::builtin().iter().map(|entry| entry.name)));
                let hint = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
                let names = names.collect::<Vec<_>>().join(", ");
                let path = self.path.display();
                anyhow::bail!("expected an agent of {path} ({names}) or of `ludex agents`, got {:?}{hint}", first)
            }
            Err(e) => Err(e.into()),
        }
    }
}

impl NamedAgent {
    /// Returns the agent's spec, with its prices. A program is compiled into a subfolder of `into`.
    ///
    /// # Errors
    /// Returns an error if the program cannot be compiled; the message has the compiler output or names the missing
    /// tool.
    pub fn spec(&self, into: &Path) -> anyhow::Result<AgentSpec> {
        match &self.source {
            AgentSource::Spec(spec) => Ok(priced(spec, self.price_in, self.price_out)?),
            AgentSource::Program(bot) => {
                let folder = into.join(&self.name);
                fs::create_dir_all(&folder)
                    .with_context(|| format!("cannot create the folder {}", folder.display()))?;
                let line = bot.build(&folder).map_err(|why| anyhow::anyhow!("{}: {why}", self.name))?;
                Ok(AgentSpec::parse(&program(&line))?)
            }
        }
    }
}

/// Returns the spec of a Botzone agent started by the command line `line`.
pub fn program(line: &str) -> String {
    format!("botzone cmd=\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Adds prices in USD per million tokens to a spec. Only language models have prices.
fn priced(spec: &AgentSpec, price_in: Option<f64>, price_out: Option<f64>) -> Result<AgentSpec, Refusal> {
    let wrong = |message: String| Err(Refusal::new(ErrorCode::UnknownAgent, message));
    let mut spec = spec.clone();
    for (name, price) in [("price_in", price_in), ("price_out", price_out)] {
        let Some(price) = price else { continue };
        if spec.class() != AgentClass::Model {
            return wrong(format!("prices: expected a language model, got {}; remove the prices", spec.name()));
        }
        if spec.has_arg(name) {
            return wrong(format!("{name}: expected one value, got two (in the spec and as a field); remove one"));
        }
        spec = spec.set(name, &price.to_string())?;
    }
    Ok(spec)
}

/// Returns the problem with an agent name and its remedy; `None` for a valid name.
fn fault_of_name(name: &str) -> Option<String> {
    if !ludex_protocol::is_agent_name(name) {
        return Some(format!("expected a name of 1 to 40 characters of A-Za-z0-9._-, got {name:?}"));
    }
    let taken = Roster::builtin().get(name).is_some();
    taken.then(|| format!("{name} is a built-in agent; choose another name"))
}
