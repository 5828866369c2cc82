//! `ludex export`.

mod game;
mod run;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{print, records};
use ludex_env::notation::Notation;
use ludex_games::notation::{PGN, SGF};
use ludex_play::tables::record::parts_line;

#[derive(clap::Args)]
#[command(override_usage = "ludex export [FILES]... [OPTIONS]\n       ludex export RUN [OPTIONS]")]
#[command(mut_arg("files", |arg| arg.help("Export files of records, one JSON object per line (- is standard input), or one run (a name below \
    DATA/runs, or a folder) [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    /// Write this table of a run
    #[arg(long, value_enum, default_value_t = ExportTable::Episodes)]
    table: ExportTable,
    /// Write JSON Lines, a table of a run as Parquet, verified chess games as PGN, or of Go, gomoku and reversi as SGF
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Export only this game, with exactly its parameters if given [default: all]
    #[arg(long)]
    game: Option<String>,
    /// Write to this file and replace an existing one; a run also gets a data card FILE.card.md [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the whole run with report and checksums as one .tar.gz for `ludex verify`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "format", "game", "out"])]
    bundle: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportTable {
    Episodes,
    Decisions,
    Calls,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    Jsonl,
    Parquet,
    Pgn,
    Sgf,
}

impl ExportFormat {
    /// Returns the notation of games, if any.
    fn notation(self) -> Option<Notation> {
        match self {
            ExportFormat::Pgn => Some(PGN),
            ExportFormat::Sgf => Some(SGF),
            ExportFormat::Jsonl | ExportFormat::Parquet => None,
        }
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(found) = args.from.run()? {
        return run::run(&found, &args);
    }
    let needs_run =
        args.bundle.is_some() || args.table != ExportTable::Episodes || args.format == ExportFormat::Parquet;
    anyhow::ensure!(!needs_run, "expected a run for decisions, calls, Parquet and bundles, got {}", args.from.name());
    let filter = records::GameFilter::parse(args.game.as_deref())?;
    let mut lines = args.from.read()?;
    let texts: Vec<String> = if let Some(notation) = args.format.notation() {
        game::texts(lines, filter.as_ref(), notation, &args.from.name())?
    } else {
        records::warn(&lines.refused);
        lines.found.retain(|f| filter.as_ref().is_none_or(|game| game.fits_record(&f.parts)));
        lines.found.iter().map(|f| parts_line(&f.parts)).collect()
    };
    let bytes = join_lines(&texts);
    write_bytes(args.out.as_deref(), bytes.as_bytes())?;
    if let Some(path) = &args.out {
        eprintln!("ludex: {} in {}", print::count(texts.len(), "episode", "episodes"), path.display());
    }
    Ok(())
}

/// Joins texts, one per line.
fn join_lines(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

/// Writes to a file, else to standard output.
fn write_bytes(path: Option<&Path>, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(io::stdout().lock().write_all(bytes)?) };
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(bytes)?;
        file.flush()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Refuses to write binary data to a terminal.
fn check_terminal(format: ExportFormat, out: Option<&Path>) -> anyhow::Result<()> {
    let binary = format == ExportFormat::Parquet && out.is_none() && io::stdout().is_terminal();
    anyhow::ensure!(!binary, "--format parquet: expected --out FILE, got a terminal");
    Ok(())
}
