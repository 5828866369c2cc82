//! Agents with names, prices and what was measured of them: `agents.toml` in the data folder, and files of the same form
//! that name the entrants of a tournament.
//!
//! ```toml
//! folder = "bots"                   # every program in it enters, under the name of its file
//!
//! [agents.little]
//! spec = "llm model=small base_url=http://127.0.0.1:8000/v1"
//! price_in = 0.5                    # USD for a million tokens
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
use ludex_agents::programs::Bot;
use ludex_agents::{AgentClass, AgentSpec, Roster};
use ludex_protocol::error::nearest;
use ludex_protocol::{ErrorCode, Refusal};

pub use edit::{add, keep_measured, remove};
pub use read::BOTS;

/// The file's name in the data folder.
pub const FILE: &str = "agents.toml";

/// The agents of one file.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// The file.
    pub path: PathBuf,
    /// In the order of the file, then those of its folder of programs by name.
    pub entries: Vec<NamedAgent>,
}

/// An agent with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedAgent {
    /// Its name.
    pub name: String,
    /// What plays.
    pub source: AgentSource,
    /// USD for a million tokens of questions, if known.
    pub price_in: Option<f64>,
    /// USD for a million tokens of answers, if known.
    pub price_out: Option<f64>,
    /// A note for people.
    pub note: Option<String>,
    /// What `ludex agents check` measured.
    pub measured: Option<MeasuredCalls>,
}

/// What plays under a name.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSource {
    /// An agent of this program.
    Spec(AgentSpec),
    /// A program that speaks Botzone's JSON. It is made ready when it is needed.
    Program(Bot),
}

/// What a check measured of an endpoint, for estimates: means over calls.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCalls {
    /// Tokens of a question.
    pub tokens_in: f64,
    /// Tokens of an answer.
    pub tokens_out: f64,
    /// Seconds.
    pub seconds: f64,
    /// Whether the endpoint takes JSON schemas.
    pub schema: bool,
    /// When, as RFC 3339.
    pub at: String,
}

/// The agents of a file such as `agents.toml`, or the programs of a folder.
///
/// # Errors
/// A file that cannot be read or is wrong. The message gives the line, and says what to do.
pub fn read(path: &Path) -> anyhow::Result<Agents> {
    let entries = if path.is_dir() {
        let entries = read::programs(path, &[])?;
        anyhow::ensure!(!entries.is_empty(), "{} holds no bots: {}", path.display(), BOTS);
        entries
    } else {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        read::agents(path, &text)?
    };
    Ok(Agents { path: path.to_owned(), entries })
}

/// The agents of a data folder; empty if it has no file of named agents.
///
/// # Errors
/// As [`read`].
pub fn of_data(data: &Path) -> anyhow::Result<Agents> {
    let path = data.join(FILE);
    if path.exists() { read(&path) } else { Ok(Agents { path, entries: Vec::new() }) }
}

impl Agents {
    /// The agent of this name.
    pub fn find(&self, name: &str) -> Option<&NamedAgent> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The agent that `text` names, by a name or a spec. The result has the agent's name (for a spec, its canonical text) and
    /// its spec. A program is made ready in its own folder below `into`.
    ///
    /// # Errors
    /// A text that is neither a name nor a spec, or a program that cannot be made ready.
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
                anyhow::bail!("{:?} is neither a name in {path} ({names}) nor an agent of `ludex agents`{hint}", first)
            }
            Err(e) => Err(e.into()),
        }
    }
}

impl NamedAgent {
    /// Its spec, with the prices. A program is made ready in its own folder below `into`.
    ///
    /// # Errors
    /// A program that cannot be made ready. The message holds the compiler's words, or says what is missing.
    pub fn spec(&self, into: &Path) -> anyhow::Result<AgentSpec> {
        match &self.source {
            AgentSource::Spec(spec) => Ok(priced(spec, self.price_in, self.price_out)?),
            AgentSource::Program(bot) => {
                let folder = into.join(&self.name);
                fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
                let line = bot.make(&folder).map_err(|why| anyhow::anyhow!("{}: {why}", self.name))?;
                Ok(AgentSpec::parse(&program(&line))?)
            }
        }
    }
}

/// The spec of an agent that is started by a command line.
pub fn program(line: &str) -> String {
    format!("botzone cmd=\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A spec with prices in USD for a million tokens. Only a language model has prices.
fn priced(spec: &AgentSpec, price_in: Option<f64>, price_out: Option<f64>) -> Result<AgentSpec, Refusal> {
    let wrong = |message: String| Err(Refusal::new(ErrorCode::UnknownAgent, message));
    let mut spec = spec.clone();
    for (name, price) in [("price_in", price_in), ("price_out", price_out)] {
        let Some(price) = price else { continue };
        if spec.class() != AgentClass::Model {
            return wrong(format!("{} costs nothing; prices are for language models: leave them out", spec.name()));
        }
        if spec.gives(name) {
            return wrong(format!("{name} is given twice: in the spec and beside it; keep one"));
        }
        spec = spec.set(name, &price.to_string())?;
    }
    Ok(spec)
}

/// What is wrong with a name for an agent, and what to do.
fn fault_of_name(name: &str) -> Option<String> {
    if !ludex_protocol::is_agent_name(name) {
        return Some(format!("{name:?} is not a valid agent name: 1 to 40 of A-Za-z0-9._- are allowed"));
    }
    let taken = Roster::builtin().get(name).is_some();
    taken.then(|| format!("{name} is an agent of this program already; take another name"))
}
