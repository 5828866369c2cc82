//! `ludex analyze`.

use std::io::{self, BufRead, Read as _, Write as _};

use ludex_protocol::error::Issue;
use serde_json::{Value, json};

/// What `ludex analyze` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The game, e.g. texas_holdem; its page says which questions it answers
    game: String,
}

/// The longest line that is read. Of a longer one the rest is passed over, so that memory stays bounded.
const LONGEST: u64 = 1 << 20;

/// Reads one line; `None` at the end of the input. A line that is too long is an issue.
fn line(input: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<Option<Result<(), Issue>>> {
    text.clear();
    if input.by_ref().take(LONGEST + 1).read_until(b'\n', text)? == 0 {
        return Ok(None);
    }
    if text.len() as u64 <= LONGEST || text.ends_with(b"\n") {
        return Ok(Some(Ok(())));
    }
    input.skip_until(b'\n')?;
    let message = format!("the line is longer than {LONGEST} bytes");
    Ok(Some(Err(Issue { allowed: Some(LONGEST.into()), message, ..Issue::default() })))
}

/// The answer to a line that was not understood: what is wrong, and where the game says where.
fn refused(issue: Issue) -> Value {
    let mut answer = json!({ "error": issue.message });
    if !issue.path.is_empty() {
        answer["path"] = issue.path.into();
    }
    if let Some(allowed) = issue.allowed {
        answer["allowed"] = allowed;
    }
    answer
}

/// Answers every line of standard input with one line: the game's answer, or `{"error": "...", "path": "..."}`.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let game = ludex_games::load(&args.game)?;
    let mut out = io::LineWriter::new(io::stdout().lock());
    let (mut input, mut text) = (io::stdin().lock(), Vec::new());
    let (mut number, mut asked, mut wrong) = (0u64, 0u64, 0u64);
    while let Some(read) = line(&mut input, &mut text)? {
        number += 1;
        if read.is_ok() && text.trim_ascii().is_empty() {
            continue;
        }
        asked += 1;
        let json = |e: serde_json::Error| Issue { message: format!("not JSON: {e}"), ..Issue::default() };
        let question = read.and_then(|()| serde_json::from_slice(&text).map_err(json));
        let answer = question.and_then(|q| game.analyze(&q)).unwrap_or_else(|issue| {
            wrong += 1;
            eprintln!("line {number}: {}", issue.message);
            refused(issue)
        });
        writeln!(out, "{answer}")?;
    }
    match wrong {
        0 => Ok(()),
        _ => anyhow::bail!("{wrong} of {asked} lines were not answered"),
    }
}
