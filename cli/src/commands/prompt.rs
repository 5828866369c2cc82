//! `ludex prompt`.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Context as _;
use ludex_agents::{AgentSpec, llm};
use serde_json::json;

/// What `ludex prompt` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. "breakthrough(rows=5)"
    game: String,
    /// Parameters of the game as JSON, beside those of its string
    #[arg(long, default_value = "{}")]
    params: String,
    /// The agent whose prompts are wanted; its arguments choose the method and the wording
    #[arg(long, default_value = "llm model=none")]
    agent: String,
}

/// Answers every line of standard input, `{"h": [[0, 3], ...], "seat": 1}`, with one line: the prompt, or `{"error": ...}`.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let params = serde_json::from_str(&args.params).context("--params is not a JSON object")?;
    let game = ludex_env::load_with(&args.game, &params)?;
    let spec = AgentSpec::parse(&args.agent)?;
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut asked, mut refused) = (0u64, 0u64);
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        asked += 1;
        let question = serde_json::from_str(&line).map_err(|e| format!("not a question: {e}"));
        let prompt = question.and_then(|q| llm::prompt(&spec, &game, &q).map_err(|e| e.message));
        let answer = prompt.and_then(|p| serde_json::to_value(p).map_err(|e| e.to_string()));
        let answer = answer.unwrap_or_else(|why| {
            refused += 1;
            json!({ "error": why })
        });
        writeln!(out, "{answer}")?;
    }
    match refused {
        0 => Ok(()),
        _ => anyhow::bail!("{refused} of {asked} lines were not answered"),
    }
}
