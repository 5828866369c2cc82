//! `ludex rate --report`.

use std::collections::BTreeSet;
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

use super::Args;
use crate::commands::{print, records, show};

pub(super) fn run(args: &Args, folder: &Path, options: RatingOptions) -> anyhow::Result<()> {
    let mut words = vec!["ludex".to_owned(), "rate".to_owned()];
    words.extend(args.from.arguments());
    words.extend(args.rating.arguments());
    words.extend(["--report".to_owned(), folder.display().to_string()]);
    let about = ReportAbout {
        title: args.title.clone().unwrap_or_else(|| "Ludex report".to_owned()),
        command: shell_line(&words),
        ..ReportAbout::default()
    };
    let files = match args.from.runs()? {
        Some(runs) => write_runs(args, &runs, folder, options, about)?,
        None => {
            let (good, refused) = args.rating.read(&args.from, &options, BTreeSet::new())?;
            write_to(&Report::build(&good, refused, options, about), folder)?
        }
    };
    if args.json {
        return Ok(print::json(&json!({ "files": files }))?);
    }
    let mut out = io::stdout().lock();
    Ok(files.iter().try_for_each(|f| writeln!(out, "{}", f.display()))?)
}

/// Writes the report and the transcripts of runs, and returns the paths of the files.
fn write_runs(
    args: &Args,
    runs: &[Archive],
    folder: &Path,
    options: RatingOptions,
    about: ReportAbout,
) -> anyhow::Result<Vec<PathBuf>> {
    anyhow::ensure!(
        args.rating.includes_all_games(),
        "--game: expected files of records, got a run, whose report has all parts"
    );
    let file = |run: &Archive| (!args.no_transcripts).then(|| format!("transcripts-{}", run.about.folder()));
    runs.iter().for_each(|run| records::warn(&run.refused));
    let (report, refused) = report_files::report(&runs.iter().collect::<Vec<_>>(), options, about, file);
    records::warn(&refused);
    anyhow::ensure!(report.records > 0, "expected matches to report, got none in {}", args.from.name());
    let mut files = write_to(&report, folder)?;
    if is_markdown(folder) {
        return Ok(files);
    }
    for run in runs {
        let Some(name) = file(run) else { continue };
        files.extend(show::write_folder(run, &folder.join(name), None)?);
    }
    Ok(files)
}

/// Writes the report as a Markdown page or to a folder.
fn write_to(report: &Report, path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if is_markdown(path) { write_markdown(report, path) } else { write(report, path) }
}

/// Writes `report.html`, `ratings.csv`, `crosstable.csv`, `report.json` and the folder `figures` to `folder`, and
/// returns the paths of the files.
///
/// # Errors
/// Returns an error if the folder cannot be created or a file cannot be written.
pub(in crate::commands) fn write(report: &Report, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    report.files().iter().map(|(name, text)| write_file(folder, name, text)).collect()
}

/// Writes a Markdown page to `page`, and its tables to a folder of the same name without `.md`.
fn write_markdown(report: &Report, page: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let stem = page.file_stem().and_then(|stem| stem.to_str()).context("--report: expected a file name in UTF-8")?;
    let folder = page.parent().unwrap_or_else(|| Path::new(""));
    report.markdown_files(stem).iter().map(|(name, text)| write_file(folder, name, text)).collect()
}

/// Returns true if the report is a Markdown page, not a folder.
fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Writes a file, and creates the file's folder if it is missing.
pub(super) fn write_file(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    let folder = path.parent().unwrap_or(folder);
    fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be created", folder.display()))?;
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}

/// Quotes a command line for a shell.
pub(in crate::commands) fn shell_line(words: &[String]) -> String {
    words.iter().map(|w| quote(w)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell, if needed.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
