//! `ludex analyze`.

use std::io::{self, BufRead as _, Write as _};

use serde_json::json;

/// What `ludex analyze` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. texas_holdem; its page says which questions it answers
    game: String,
}

/// Answers every line of standard input with one line: the game's answer, or `{"error": "..."}`.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_env::load(&args.game)?;
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut asked, mut refused) = (0u64, 0u64);
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        asked += 1;
        let answer = serde_json::from_str(&line).map_err(|e| format!("not JSON: {e}")).and_then(|q| game.analyze(&q));
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
