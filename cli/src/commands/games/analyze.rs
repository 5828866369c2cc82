//! `ludex games analyze`.

use std::io::{self, BufRead, Read as _, Write as _};

use ludex_protocol::error::Issue;
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Game string, e.g. texas_holdem; its page lists the queries
    game: String,
}

/// Maximum length of a line in bytes; the rest of a longer line is skipped.
const MAX_LINE: u64 = 1 << 20;

/// Reads one line; `None` at the end of the input. A line that is too long gives an [`Issue`].
fn read_line(input: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<Option<Result<(), Issue>>> {
    text.clear();
    if input.by_ref().take(MAX_LINE + 1).read_until(b'\n', text)? == 0 {
        return Ok(None);
    }
    if text.len() as u64 <= MAX_LINE || text.ends_with(b"\n") {
        return Ok(Some(Ok(())));
    }
    input.skip_until(b'\n')?;
    let message = format!("line: expected at most {MAX_LINE} bytes, got more");
    Ok(Some(Err(Issue { allowed: Some(MAX_LINE.into()), message, ..Issue::default() })))
}

/// Returns the reply to an invalid query: the error message, with path and allowed values if known.
fn error_json(issue: Issue) -> Value {
    let mut answer = json!({ "error": issue.message });
    if !issue.path.is_empty() {
        answer["path"] = issue.path.into();
    }
    if let Some(allowed) = issue.allowed {
        answer["allowed"] = allowed;
    }
    answer
}

/// Replies to each line of standard input with one line: the reply of the game, or `{"error": "...", "path": "..."}`.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_games::load(&args.game)?;
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut input, mut text) = (io::stdin().lock(), Vec::new());
    let (mut number, mut queries, mut failed) = (0u64, 0u64, 0u64);
    while let Some(read) = read_line(&mut input, &mut text)? {
        number += 1;
        if read.is_ok() && text.trim_ascii().is_empty() {
            continue;
        }
        queries += 1;
        let json = |e: serde_json::Error| Issue { message: format!("expected JSON: {e}"), ..Issue::default() };
        let query = read.and_then(|()| serde_json::from_slice(&text).map_err(json));
        let reply = query.and_then(|q| game.analyze(&q)).unwrap_or_else(|issue| {
            failed += 1;
            eprintln!("line {number}: {}", issue.message);
            error_json(issue)
        });
        writeln!(out, "{reply}")?;
    }
    anyhow::ensure!(failed == 0, "{failed} of {queries} queries failed");
    Ok(())
}
