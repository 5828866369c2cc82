//! `ludex report`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_play::runs::report_files;
use ludex_report::Report;
use ludex_report::ReportAbout;
use ludex_report::runs::archive::Archive;
use ludex_report::scale::RatingOptions;
use serde_json::json;

use super::{print, records, transcript};

/// What `ludex report` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    #[command(flatten)]
    rated: records::Rated,
    /// Folder to write into; it is created if missing, and files of the same name are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Heading of the page
    #[arg(long, default_value = "Ludex report")]
    title: String,
    /// Do not write the transcripts of runs beside the page
    #[arg(long)]
    no_transcripts: bool,
    /// Print one JSON document: {files}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let options = args.rated.options()?;
    let about = ReportAbout { title: args.title.clone(), command: command(&args), ..ReportAbout::default() };
    let files = match args.from.runs()? {
        Some(runs) => of_runs(&args, &runs, options, about)?,
        None => {
            let (good, refused) = args.rated.read(&args.from, &options)?;
            write(&Report::build(&good, refused, options, about), &args.out)?
        }
    };
    if args.json {
        return Ok(print::json(&json!({ "files": files }))?);
    }
    let mut out = io::stdout().lock();
    Ok(files.iter().try_for_each(|f| writeln!(out, "{}", f.display()))?)
}

/// Writes the report of runs, with their transcripts beside it; the files.
fn of_runs(args: &Args, runs: &[Archive], options: RatingOptions, about: ReportAbout) -> anyhow::Result<Vec<PathBuf>> {
    anyhow::ensure!(
        args.rated.all_games(),
        "--game is for files of records; the report of a run shows all of its parts"
    );
    let file = |run: &Archive| (!args.no_transcripts).then(|| format!("transcripts-{}.html", run.about.folder()));
    runs.iter().for_each(|run| records::warn(&run.refused));
    let (report, refused) = report_files::report(&runs.iter().collect::<Vec<_>>(), options, about, file);
    records::warn(&refused);
    anyhow::ensure!(report.records > 0, "found no matches to report in {}", args.from.name());
    let mut files = write(&report, &args.out)?;
    for run in runs {
        let Some(name) = file(run) else { continue };
        files.push(write_file(&args.out, &name, &transcript::whole(run)?)?);
    }
    Ok(files)
}

/// Writes `report.html`, `ratings.csv`, `crosstable.csv`, `report.json` and the folder `figures` into `folder`; the files.
///
/// # Errors
/// When the folder cannot be made or a file cannot be written.
pub(super) fn write(report: &Report, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    report.files().iter().map(|(name, text)| write_file(folder, name, text)).collect()
}

/// Writes a file, and makes its folder.
fn write_file(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let folder = path.parent().unwrap_or(folder);
    fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}

/// The command line that makes the report again.
fn command(args: &Args) -> String {
    let mut words = vec!["ludex".to_owned(), "report".to_owned()];
    words.extend(args.from.arguments());
    words.extend(args.rated.arguments());
    words.extend(["--out".to_owned(), args.out.display().to_string()]);
    line(&words)
}

/// A command line as a shell reads it back.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
