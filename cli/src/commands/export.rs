//! `ludex export`.

mod game;
mod run;
mod tuning;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_arena::season_bundle;
use ludex_env::notation::Notation;
use ludex_games::notation::{PGN, SGF};
use ludex_report::tables::record::parts_line;

use self::tuning::TuningArgs;
use super::{print, records};

#[derive(clap::Args)]
#[command(
    override_usage = "ludex export [FILES]... [OPTIONS]\n       ludex export RUN [OPTIONS]\n       ludex export --ladder|--season NAME/SEASON --bundle FILE"
)]
#[command(mut_arg("files", |arg| arg.help("Export files of records, one JSON object per line (- is standard input), or one run (a name below \
    DATA/runs, or a folder) [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    /// Export this table of a run; matches, moves, marks, labels and ratings have one value per cell, and the order of the plan
    #[arg(long, value_enum, default_value_t = ExportTable::Episodes)]
    table: ExportTable,
    /// Write JSON Lines, CSV or Parquet (for a table of a run), PGN (for verified chess games), or SGF (for verified games of
    /// Go, gomoku and reversi)
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Export only this game; parameters, if given, must match exactly [default: all games]
    #[arg(long)]
    game: Option<String>,
    /// Write to this file, replacing an existing file; for a run, also write the data card FILE.card.md [default:
    /// standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the whole run with report and checksums to this .tar.gz file, or a season with its table and records, for
    /// `ludex verify`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["table", "format", "game", "out", "TuningArgs"])]
    bundle: Option<PathBuf>,
    /// Export this finished season of a suite
    #[arg(long, value_name = "SUITE/SEASON", value_parser = season, requires = "bundle", conflicts_with = "files")]
    season: Option<SeasonName>,
    /// Export this finished season of a standing ladder
    #[arg(long, value_name = "LADDER/SEASON", value_parser = season, requires = "bundle",
        conflicts_with_all = ["files", "season"])]
    ladder: Option<SeasonName>,
    #[command(flatten)]
    tuning: TuningArgs,
}

/// Suite or ladder, and the name of its season.
#[derive(Clone)]
struct SeasonName {
    contest: String,
    season: String,
}

fn season(text: &str) -> Result<SeasonName, String> {
    match text.split_once('/') {
        Some((contest, season)) if !contest.is_empty() && !season.is_empty() => {
            Ok(SeasonName { contest: contest.to_owned(), season: season.to_owned() })
        }
        _ => Err(format!("expected a name and a season, such as connect_four/s1, got {text}")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportTable {
    /// Records with all events, as they were played
    Episodes,
    /// Seats of the plan's matches
    Matches,
    Moves,
    Marks,
    Decisions,
    Calls,
    /// Labels of decisions, one row for each labeler and label
    Labels,
    Ratings,
    /// Conversations for supervised fine-tuning: prompts with the replies to imitate
    Sft,
    /// Pairs of a better and a worse reply for preference fine-tuning
    Dpo,
    /// Prompts with positions and returns for reinforcement learning
    Grpo,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    Jsonl,
    Csv,
    Parquet,
    Pgn,
    Sgf,
}

impl ExportFormat {
    /// Returns the notation that the format stands for; `None` for formats that are not notations.
    fn notation(self) -> Option<Notation> {
        match self {
            ExportFormat::Pgn => Some(PGN),
            ExportFormat::Sgf => Some(SGF),
            ExportFormat::Jsonl | ExportFormat::Csv | ExportFormat::Parquet => None,
        }
    }
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(file) = args.bundle.as_deref().filter(|_| args.season.is_some() || args.ladder.is_some()) {
        return export_season(&args, file);
    }
    if let Some(found) = args.from.run()? {
        return run::run(&found, &args);
    }
    let needs_run = args.bundle.is_some()
        || args.table != ExportTable::Episodes
        || matches!(args.format, ExportFormat::Parquet | ExportFormat::Csv);
    anyhow::ensure!(!needs_run, "expected a run (for tables, CSV, Parquet and bundles), got {}", args.from.name());
    let filter = records::RecordFilter::parse(args.game.as_deref())?;
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

/// Writes a finished season as one file.
fn export_season(args: &Args, file: &Path) -> anyhow::Result<()> {
    let bytes = records::with_store(args.from.store(), async |store| {
        if let Some(SeasonName { contest, season }) = &args.ladder {
            return season_bundle::of_ladder(&store, contest, season).await;
        }
        let SeasonName { contest, season } = args.season.as_ref().context("expected --season or --ladder")?;
        season_bundle::of_suite(&store, &args.from.store().data, contest, season).await
    })?;
    write_bytes(Some(file), &bytes)?;
    eprintln!("ludex: {} bytes in {} (`ludex verify {}` checks it)", bytes.len(), file.display(), file.display());
    Ok(())
}

/// Joins texts, one per line.
fn join_lines(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

/// Writes to the file `path` or, without a path, to standard output.
fn write_bytes(path: Option<&Path>, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(io::stdout().lock().write_all(bytes)?) };
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(bytes)?;
        file.flush()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Returns an error if binary data would be written to a terminal.
fn check_terminal(format: ExportFormat, out: Option<&Path>) -> anyhow::Result<()> {
    let binary = format == ExportFormat::Parquet && out.is_none() && io::stdout().is_terminal();
    anyhow::ensure!(!binary, "--format parquet: expected --out FILE, got a terminal");
    Ok(())
}
