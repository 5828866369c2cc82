//! `ludex export`.

mod game;
mod run;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::notation::Notation;
use ludex_games::notation::{PGN, SGF};
use ludex_report::tables::record::parts_line;

use super::{print, records};

/// What `ludex export` takes.
#[derive(clap::Args)]
#[command(override_usage = "ludex export [FILES]... [OPTIONS]\n       ludex export RUN [OPTIONS]")]
#[command(mut_arg("files", |arg| arg.help("Files of records, one JSON object per line (- for standard input), or one run (its name below \
    DATA/runs, or its folder) [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    /// What to write of a run: its matches, its decisions (one row each), or its calls (one row each)
    #[arg(long, value_enum, default_value_t = What::Episodes)]
    what: What,
    /// jsonl: one JSON object per line, records as they are; parquet: a table of a run; pgn: verified games of chess;
    /// sgf: verified games of Go, gomoku and reversi
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Only this game; if parameters are given, only with these
    #[arg(long)]
    game: Option<String>,
    /// File to write; an existing file is replaced, and an export of a run gets a data card beside it [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the whole run as one FILE.tar.gz with report and checksums, which `ludex verify` checks anywhere
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "format", "game", "out"])]
    bundle: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Episodes,
    Decisions,
    Calls,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Jsonl,
    Parquet,
    Pgn,
    Sgf,
}

impl Format {
    /// The notation of games, if it is one.
    fn notation(self) -> Option<Notation> {
        match self {
            Format::Pgn => Some(PGN),
            Format::Sgf => Some(SGF),
            Format::Jsonl | Format::Parquet => None,
        }
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(found) = args.from.run()? {
        return run::run(&found, &args);
    }
    let needs_run = args.bundle.is_some() || args.what != What::Episodes || args.format == Format::Parquet;
    anyhow::ensure!(
        !needs_run,
        "{} is not a run, and only runs have decisions, calls, tables and bundles; give a run's name or its folder",
        args.from.name()
    );
    let which = records::Which::parse(args.game.as_deref())?;
    let mut lines = args.from.read()?;
    let texts: Vec<String> = if let Some(notation) = args.format.notation() {
        game::texts(lines, which.as_ref(), notation, &args.from.name())?
    } else {
        records::warn(&lines.refused);
        lines.found.retain(|f| which.as_ref().is_none_or(|w| w.is_of(&f.parts)));
        lines.found.iter().map(|f| parts_line(&f.parts)).collect()
    };
    let bytes = joined(&texts);
    put(args.out.as_deref(), bytes.as_bytes())?;
    if let Some(path) = &args.out {
        eprintln!("ludex: {} in {}", print::count(texts.len(), "episode", "episodes"), path.display());
    }
    Ok(())
}

/// The texts, one per line.
fn joined(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

/// Writes to a file, else to standard output.
fn put(path: Option<&Path>, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(io::stdout().lock().write_all(bytes)?) };
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(bytes)?;
        file.flush()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Refuses to write binary data to a terminal.
fn not_to_a_terminal(format: Format, out: Option<&Path>) -> anyhow::Result<()> {
    let binary = format == Format::Parquet && out.is_none() && io::stdout().is_terminal();
    anyhow::ensure!(!binary, "parquet is binary and a terminal cannot show it: name a file with --out FILE");
    Ok(())
}
