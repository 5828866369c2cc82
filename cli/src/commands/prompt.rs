//! `ludex prompt`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use ludex_agents::{AgentSpec, llm};
use ludex_env::GameRef;
use ludex_play::agents_file;
use serde_json::json;

/// What `ludex prompt` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. "breakthrough(rows=5)"
    game: String,
    /// Parameters of the game as JSON, beside those of its string
    #[arg(long, default_value = "{}")]
    params: String,
    /// The agent whose prompts are wanted, or a name given with `ludex agents add`; its arguments choose the method and the wording
    #[arg(long, alias = "spec", default_value = "llm model=none")]
    agent: String,
    /// Prints the prompt for this seat; absent: the first seat that acts
    #[arg(long)]
    seat: Option<usize>,
    /// Prints the prompt after these moves, in their order: names or documents. Where seats move at the same time, one for each
    #[arg(long, num_args = 1.., value_name = "MOVE", allow_negative_numbers = true)]
    after: Vec<String>,
    /// Prints the prompt after as many moves at random
    #[arg(long, value_name = "N")]
    random: Option<u32>,
    /// Prints the prompt with what chance draws for this seed [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder of the named agents
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
}

/// How long nothing may come on standard input before the command says that it reads there.
const QUIET: Duration = Duration::from_secs(2);

/// Prints the prompt of one position. With none of the flags for it and something on standard input, it answers every line there,
/// `{"h": [[0, 3], ...], "seat": 1}`, with one line: the prompt, or `{"error": ...}`. With nothing there it prints the prompt at the start.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let params = serde_json::from_str(&args.params).context("--params is not a JSON object")?;
    let game = ludex_games::load_with(&args.game, &params)?;
    let (_, spec) = agents_file::of_data(&args.data)?.resolve(&args.agent, &args.data.join("programs"))?;
    let chosen = args.seat.is_some() || !args.after.is_empty() || args.random.is_some() || args.seed.is_some();
    if !chosen && !io::stdin().is_terminal() && answer(&spec, &game)? > 0 {
        return Ok(());
    }
    let way = llm::Way { moves: args.after, random: args.random.unwrap_or(0), seed: args.seed.unwrap_or(0) };
    let h = llm::resolve_path(&game, &way)?;
    let prompt = llm::prompt(&spec, &game, &llm::PositionQuery { h, seat: args.seat })?;
    let parts = prompt.messages.iter().map(|m| format!("[{}]\n\n{}\n", m.role, m.content));
    print!("{}", parts.collect::<Vec<_>>().join("\n"));
    Ok(())
}

/// Answers the lines of standard input; how many there were.
fn answer(spec: &AgentSpec, game: &GameRef) -> anyhow::Result<u64> {
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut asked, mut refused) = (0u64, 0u64);
    let heard = Arc::new(AtomicBool::new(false));
    let waiting = heard.clone();
    thread::spawn(move || {
        thread::sleep(QUIET);
        if !waiting.load(Ordering::Relaxed) {
            eprintln!(
                "ludex: reads positions from standard input, one a line; --seed 0 prints the prompt at the start of the game"
            );
        }
    });
    for line in io::stdin().lock().lines() {
        heard.store(true, Ordering::Relaxed);
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        asked += 1;
        let question = serde_json::from_str(&line).map_err(|e| format!("not a question: {e}"));
        let prompt = question.and_then(|q| llm::prompt(spec, game, &q).map_err(|e| e.message));
        let answer = prompt.and_then(|p| serde_json::to_value(p).map_err(|e| e.to_string()));
        let answer = answer.unwrap_or_else(|why| {
            refused += 1;
            json!({ "error": why })
        });
        writeln!(out, "{answer}")?;
    }
    match refused {
        0 => Ok(asked),
        _ => anyhow::bail!("{refused} of {asked} lines were not answered"),
    }
}
