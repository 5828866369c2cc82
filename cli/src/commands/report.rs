//! `ludex report`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_referee::Report;
use ludex_referee::report::ReportAbout;
use serde_json::json;

use super::{print, records};

/// What `ludex report` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    from: records::From,
    #[command(flatten)]
    rated: records::Rated,
    /// Folder to write into; it is created if missing, and files of the same name are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Heading of the page
    #[arg(long, default_value = "Ludex report")]
    title: String,
    /// Print one JSON document: {files}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let options = args.rated.options()?;
    let (good, refused) = args.rated.read(&args.from, &options)?;
    let about =
        ReportAbout { title: args.title.clone(), command: command(&args), secret: None, ..ReportAbout::default() };
    let files = write(&Report::build(&good, refused, options, about), &args.out)?;
    if args.json {
        return Ok(print::json(&json!({ "files": files }))?);
    }
    let mut out = io::stdout().lock();
    Ok(files.iter().try_for_each(|f| writeln!(out, "{}", f.display()))?)
}

/// Writes `report.html`, `ratings.csv`, `crosstable.csv` and `report.json` into `folder`; the files.
///
/// # Errors
/// When the folder cannot be made or a file cannot be written.
pub(super) fn write(report: &Report, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let json = format!("{:#}\n", report.to_json());
    let texts = [
        ("report.html", report.to_html()),
        ("ratings.csv", report.to_csv()),
        ("crosstable.csv", report.crosstable_csv()),
        ("report.json", json),
    ];
    let write = |(name, text): (&str, String)| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    };
    texts.into_iter().map(write).collect()
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
