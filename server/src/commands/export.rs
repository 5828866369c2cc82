//! `ludex export`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_env::games::chess;
use ludex_protocol::record::{Outcome, Parts, Reason, RecordEvent};
use ludex_referee::Verified;
use serde_json::{Map, Value};

use super::{print, records};

/// What `ludex export` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    from: records::From,
    /// jsonl: the records as they are; pgn: verified games of chess
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Only this game; with parameters, only these
    #[arg(long)]
    game: Option<String>,
    /// File to write, replaced if it is there [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Jsonl,
    Pgn,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let which = records::Which::parse(args.game.as_deref())?;
    let mut lines = args.from.read()?;
    let texts: Vec<String> = match args.format {
        Format::Jsonl => {
            records::warn(&lines.refused);
            lines.found.retain(|f| which.as_ref().is_none_or(|w| w.is_of(&f.parts)));
            lines.found.into_iter().map(|f| line(f.parts)).collect()
        }
        Format::Pgn => {
            let (good, refused) = records::verified(lines, which.as_ref());
            records::warn(&refused);
            let (games, others): (Vec<_>, Vec<_>) = good.iter().partition(|v| v.spec().game == chess::ENTRY.id);
            if games.is_empty() {
                anyhow::bail!("there is no verified game of chess in {}; PGN holds nothing else", args.from.name());
            }
            if !others.is_empty() {
                eprintln!("ludex: left out: {} of other games", print::count(others.len(), "episode", "episodes"));
            }
            games.into_iter().map(|v| pgn(v)).collect::<anyhow::Result<_>>()?
        }
    };
    let count = texts.len();
    let written = |mut out: &mut dyn Write| {
        texts.iter().try_for_each(|text| writeln!(out, "{text}"))?;
        Write::flush(&mut out)
    };
    let Some(path) = &args.out else { return Ok(written(&mut BufWriter::new(io::stdout().lock()))?) };
    let put = || written(&mut BufWriter::new(File::create(path)?));
    put().with_context(|| format!("{} cannot be written", path.display()))?;
    eprintln!("ludex: {} in {}", print::count(count, "episode", "episodes"), path.display());
    Ok(())
}

/// A record as one line, nothing of it lost.
fn line(parts: Parts) -> String {
    let mut all: Map<String, Value> = parts.header;
    all.insert("events".to_owned(), parts.events.into());
    all.extend(parts.footer);
    Value::Object(all).to_string()
}

/// A verified game of chess.
fn pgn(game: &Verified) -> anyhow::Result<String> {
    let record = game.record();
    let moves = record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { m.action } else { None });
    let moves: Vec<u32> = moves.collect();
    // White is seat 1.
    let (black, white) = (0, 1);
    let name = |seat: usize| record.header.seats.get(seat).map_or("?", |s| s.name.as_str());
    let result = match record.footer.outcome.get(white) {
        Some(Outcome::Win) => "1-0",
        Some(Outcome::Loss) => "0-1",
        Some(Outcome::Draw) => "1/2-1/2",
        Some(Outcome::None) | None => "*",
    };
    let date = record.header.started.get(..10).map_or("????.??.??".to_owned(), |d| d.replace('-', "."));
    let termination = match game.reason() {
        Reason::Finished | Reason::Resign => "normal",
        Reason::Timeout => "time forfeit",
        Reason::Illegal | Reason::AgentError => "rules infraction",
        Reason::Disconnect | Reason::NoShow => "abandoned",
        Reason::Truncated => "adjudication",
        Reason::InfraError | Reason::Aborted => "unterminated",
    };
    let tags = [
        ("Event", record.footer.run.as_deref().unwrap_or("?")),
        ("Site", &record.header.server),
        ("Date", &date),
        ("Round", "-"),
        ("White", name(white)),
        ("Black", name(black)),
        ("Termination", termination),
        ("Episode", &record.header.episode),
    ];
    let start = record.header.params.get("fen").and_then(Value::as_str);
    chess::pgn(start, &moves, result, &tags).map_err(anyhow::Error::msg)
}
