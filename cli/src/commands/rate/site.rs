//! `ludex rate --site`: a static site of the leaderboards of runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use ludex_play::runs::run_metrics::RunTables;
use ludex_play::runs::{bundle, report_files};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{PACKED, is_bundle};
use ludex_report::runs::settings::{RunKind, RunSettings};
use ludex_report::scale::RatingOptions;
use ludex_report::site::{BUNDLES, Downloads, FOLDERS, SITE, Site};
use ludex_report::tables::card::{DescribedFile, DescribedTable, card};
use ludex_report::tables::{TableRow, columns, csv, matches::MatchRow, moves::MoveRow, ratings::RatingRow};
use ludex_report::{Report, ReportAbout};
use serde_json::json;

use super::Args;
use super::report::{shell_line, write_file};
use crate::commands::{print, records, show};

pub(super) fn run(args: &Args, folder: &Path, options: &RatingOptions) -> anyhow::Result<()> {
    ensure!(args.rating.includes_all_games(), "--game: expected no filter with --site, whose pages have all games");
    let given = args.from.runs()?.context("--site: expected names, folders or bundles of runs")?;
    let runs = with_stored_runs(given, folder)?;
    let title = args.title.clone().unwrap_or_else(|| "Leaderboards".to_owned());
    let files = write(&runs, folder, title, options, !args.no_transcripts)?;
    if args.json {
        return Ok(print::json(&json!({ "files": files }))?);
    }
    let many = print::count(files.len(), "file", "files");
    let of = print::count(runs.len(), "run", "runs");
    Ok(writeln!(io::stdout().lock(), "{}: {of}, {many}", folder.join("index.html").display())?)
}

/// Returns the runs and those whose bundles the site has, by folder name. A given run replaces the stored one.
fn with_stored_runs(given: Vec<Archive>, folder: &Path) -> anyhow::Result<BTreeMap<String, Archive>> {
    let mut runs = BTreeMap::new();
    for run in given {
        let (name, place) = (run.about.folder(), run.place.display().to_string());
        ensure!(run.about.kind == RunKind::Evaluate, "--site: expected runs of suites, got the tournament {name}");
        if let Some(other) = runs.insert(name.clone(), run) {
            bail!("--site: expected runs with different names, got {name} at {} and {place}", other.place.display());
        }
    }
    if !folder.exists() || folder.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
        return Ok(runs);
    }
    let shown = folder.display();
    ensure!(folder.join(SITE).is_file(), "--site: expected a new folder or a site with {SITE}, got {shown}");
    for entry in folder.join(BUNDLES).read_dir().into_iter().flatten() {
        let path = entry?.path();
        if is_bundle(&path) {
            let run = Archive::open(&path.display().to_string(), folder)?;
            runs.entry(run.about.folder()).or_insert(run);
        }
    }
    Ok(runs)
}

/// Writes a site, and returns the paths of its files. Files of an earlier version of the site are removed.
fn write(
    runs: &BTreeMap<String, Archive>,
    folder: &Path,
    title: String,
    options: &RatingOptions,
    transcripts: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    // The bundles come first: with them, a site that is interrupted later can be written again.
    let mut files =
        runs.iter().map(|(name, run)| write_bundle(name, run, folder)).collect::<anyhow::Result<Vec<_>>>()?;
    files.push(write_file(folder, SITE, "{}\n")?);
    for name in FOLDERS.map(|name| folder.join(name)) {
        if name.exists() {
            fs::remove_dir_all(&name).with_context(|| format!("{} cannot be removed", name.display()))?;
        }
    }
    let mut suites: BTreeMap<(&str, u32, &str), Vec<&Archive>> = BTreeMap::new();
    for run in runs.values() {
        let suite = &run.about.suite;
        suites.entry((&suite.name, suite.version, &suite.digest)).or_default().push(run);
    }
    let suites = suites.into_values().map(|runs| report(&runs, options, transcripts)).collect::<anyhow::Result<_>>()?;
    let mut site = Site { title: title.clone(), suites, downloads: Vec::new() };
    let mut tables = SiteTables::default();
    for (name, run) in runs {
        let mut own = vec![format!("{BUNDLES}/{name}{PACKED}")];
        own.extend(tables.write(name, run, folder, &mut files)?);
        site.downloads.push(Downloads { run: name.clone(), files: own });
        if transcripts && !run.found.is_empty() {
            let place = folder.join("transcripts").join(name);
            files.extend(show::write_folder(run, &place, Some("../../index.html"))?);
        }
    }
    let settings: Vec<&RunSettings> = runs.values().map(|run| &run.about).collect();
    files.push(write_file(folder, "README.md", tables.card(&title, &settings, &command(runs, "--site", ".")))?);
    for (name, text) in site.files() {
        files.push(write_file(folder, &name, text)?);
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Writes the bundle of a run, unless the run was read from there.
fn write_bundle(name: &str, run: &Archive, folder: &Path) -> anyhow::Result<PathBuf> {
    let file = format!("{BUNDLES}/{name}{PACKED}");
    let path = folder.join(&file);
    if run.place == path {
        return Ok(path);
    }
    if is_bundle(&run.place) {
        let bytes = fs::read(&run.place).with_context(|| format!("{} cannot be read", run.place.display()))?;
        return write_file(folder, &file, bytes);
    }
    let (pages, _) = report_files::pages(run);
    write_file(folder, &file, bundle::write(&run.about, &run.files, pages)?)
}

/// Returns the report of the runs of a suite.
fn report(runs: &[&Archive], options: &RatingOptions, transcripts: bool) -> anyhow::Result<Report> {
    let names: Vec<String> = runs.iter().map(|run| run.about.folder()).collect();
    let links = |run: &Archive| {
        (transcripts && !run.found.is_empty()).then(|| format!("../../transcripts/{}", run.about.folder()))
    };
    let about = ReportAbout {
        command: command(names.iter().map(|name| (name, ())), "--report", "report"),
        ..ReportAbout::default()
    };
    let (mut report, refused) = report_files::report(runs, options.clone(), about, links);
    records::warn(&runs.iter().flat_map(|run| run.refused.clone()).chain(refused).collect::<Vec<_>>());
    ensure!(
        !report.runs.is_empty(),
        "--site: the plan of {} cannot be rebuilt: {}",
        names.join(", "),
        report.about.notes.join("; ")
    );
    let first = &report.runs[0];
    report.about.title = if first.title.is_empty() { first.suite.clone() } else { first.title.clone() };
    Ok(report)
}

/// Returns the command that repeats pages from the bundles of a site, in the site's folder.
fn command<T>(runs: impl IntoIterator<Item = (impl AsRef<str>, T)>, option: &str, to: &str) -> String {
    let bundles = runs.into_iter().map(|(name, _)| format!("{BUNDLES}/{}{PACKED}", name.as_ref()));
    let words = ["ludex", "rate"].map(str::to_owned).into_iter().chain(bundles);
    shell_line(&words.chain([option.to_owned(), to.to_owned()]).collect::<Vec<_>>())
}

/// Tables of a site for download.
#[derive(Default)]
struct SiteTables {
    matches: Vec<DescribedFile>,
    moves: Vec<DescribedFile>,
    ratings: Vec<DescribedFile>,
}

impl SiteTables {
    /// Writes the tables of a run, and returns their paths in the site.
    fn write(
        &mut self,
        name: &str,
        run: &Archive,
        folder: &Path,
        files: &mut Vec<PathBuf>,
    ) -> anyhow::Result<Vec<String>> {
        let tables = RunTables::of(run, false)?;
        let written = [
            write_table(name, &tables.matches(), folder, &mut self.matches)?,
            write_table(name, &tables.moves(), folder, &mut self.moves)?,
            write_table(name, &tables.ratings(), folder, &mut self.ratings)?,
        ];
        files.extend(written.iter().map(|path| folder.join(path)));
        Ok(written.to_vec())
    }

    fn card(self, title: &str, runs: &[&RunSettings], command: &str) -> String {
        let parts = [columns::<MatchRow>(), columns::<MoveRow>(), columns::<RatingRow>()];
        let [matches, moves, ratings] = &parts;
        let tables = [
            (MatchRow::WHAT, MatchRow::ABOUT, matches, self.matches),
            (MoveRow::WHAT, MoveRow::ABOUT, moves, self.moves),
            (RatingRow::WHAT, RatingRow::ABOUT, ratings, self.ratings),
        ];
        let tables =
            tables.map(|(name, about, columns, files)| DescribedTable { name, format: "CSV", about, columns, files });
        card(title, runs, command, &tables)
    }
}

/// Writes a table of a run, adds its description to `to`, and returns its path in the site.
fn write_table<R: TableRow>(
    name: &str,
    rows: &[R],
    folder: &Path,
    to: &mut Vec<DescribedFile>,
) -> anyhow::Result<String> {
    let path = format!("data/{name}/{}.csv", R::WHAT);
    let bytes = csv(rows)?;
    write_file(folder, &path, &bytes)?;
    let count = format!("{} of {}", print::count(rows.len(), "row", "rows"), R::WHAT);
    to.push(DescribedFile::of(path.clone(), &bytes, rows.len(), count));
    Ok(path)
}
