//! `ludex games prompt`.

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

#[derive(clap::Args)]
pub(super) struct Args {
    /// Game string, e.g. "breakthrough(rows=5)"
    game: String,
    /// Set parameters of the game with this JSON object, e.g. '{"rows": 5}'
    #[arg(long, default_value = "{}")]
    params: String,
    /// Print the prompts of this agent: a spec, or a name listed by `ludex agents`
    #[arg(long, default_value = "llm model=none")]
    agent: String,
    /// Print the prompt for this seat, by number from 0 [default: the first seat to move]
    #[arg(long)]
    seat: Option<usize>,
    /// Play these moves first, by name or document; for simultaneous moves, give one per seat
    #[arg(long, num_args = 1.., value_name = "MOVE", allow_negative_numbers = true)]
    moves: Vec<String>,
    /// Play this many random moves first
    #[arg(long, value_name = "N")]
    random_moves: Option<u32>,
    /// Set the seed of chance and of random moves [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Read named agents from this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
}

/// Time without input after which a usage hint is printed.
const HINT_DELAY: Duration = Duration::from_secs(2);

/// Prints the prompt of the position that the options describe.
///
/// Without such options, reads positions from standard input, one per line, such as `{"h": [[0, 3], ...], "seat": 1}`.
/// Each gets one line of output: the prompt, or `{"error": ...}`. If the input is empty, prints the prompt of the start
/// position.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let params = serde_json::from_str(&args.params).context("--params: expected a JSON object")?;
    let game = ludex_games::load_with(&args.game, &params)?;
    let (_, spec) = agents_file::of_data(&args.data)?.resolve(&args.agent, &args.data.join("programs"))?;
    let chosen = args.seat.is_some() || !args.moves.is_empty() || args.random_moves.is_some() || args.seed.is_some();
    if !chosen && !io::stdin().is_terminal() && answer_lines(&spec, &game)? > 0 {
        return Ok(());
    }
    let path = llm::Way { moves: args.moves, random: args.random_moves.unwrap_or(0), seed: args.seed.unwrap_or(0) };
    let h = llm::resolve_path(&game, &path)?;
    let prompt = llm::prompt(&spec, &game, &llm::PositionQuery { h, seat: args.seat })?;
    let parts = prompt.messages.iter().map(|m| format!("[{}]\n\n{}\n", m.role, m.content));
    print!("{}", parts.collect::<Vec<_>>().join("\n"));
    Ok(())
}

/// Prints the prompt for each line of standard input and returns the number of lines.
fn answer_lines(spec: &AgentSpec, game: &GameRef) -> anyhow::Result<u64> {
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut queries, mut failed) = (0u64, 0u64);
    let has_input = Arc::new(AtomicBool::new(false));
    let input_seen = has_input.clone();
    thread::spawn(move || {
        thread::sleep(HINT_DELAY);
        if !input_seen.load(Ordering::Relaxed) {
            eprintln!(
                "ludex: reading positions from standard input, one per line; --seed 0 prints the prompt of the start position"
            );
        }
    });
    for line in io::stdin().lock().lines() {
        has_input.store(true, Ordering::Relaxed);
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        queries += 1;
        let query = serde_json::from_str(&line).map_err(|e| format!("query: {e}"));
        let prompt = query.and_then(|q| llm::prompt(spec, game, &q).map_err(|e| e.message));
        let answer = prompt.and_then(|p| serde_json::to_value(p).map_err(|e| e.to_string()));
        let answer = answer.unwrap_or_else(|why| {
            failed += 1;
            json!({ "error": why })
        });
        writeln!(out, "{answer}")?;
    }
    anyhow::ensure!(failed == 0, "{failed} of {queries} queries failed");
    Ok(queries)
}
