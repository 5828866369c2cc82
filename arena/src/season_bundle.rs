//! Bundles of finished seasons: description, roster, records and table of a competition in one file. The table can be
//! computed again from the records.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use ludex_play::runs::audit::audit;
use ludex_play::runs::{bundle, report_files};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{CARD, Files, PACKED, SEASON, SUMS, TABLE, check, read_bytes, sums};
use ludex_report::scale::RatingOptions;
use ludex_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use crate::season_audit::SeasonAudit;
use crate::seasons::Season;
use crate::standing_ladders::LadderSeason;

/// Maximum number of runs in a season's bundle.
const MAX_RUNS: usize = 10_000;

/// Description of a season, the file `season.json` of its bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SeasonDescription {
    Ladder(Box<LadderSeason>),
    Suite(SuiteSeason),
}

/// Season of a suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SuiteSeason {
    /// Program that wrote the bundle.
    program: String,
    suite: String,
    season: Season,
    /// Names of the runs. Each is a bundle of its own in the bundle.
    runs: Vec<String>,
}

/// Returns the bundle of a frozen season of a ladder.
///
/// # Errors
///
/// Those of the store, or a season that does not exist or is not over.
pub async fn of_ladder(store: &Store, ladder: &str, season: &str) -> anyhow::Result<Vec<u8>> {
    let (description, mut files) = LadderSeason::read(store, ladder, season).await?;
    files.insert(TABLE.to_owned(), json_file(&description.table_again(&files)?.0)?);
    let title = description.title();
    pack(&title, SeasonDescription::Ladder(Box::new(description)), files)
}

/// Returns the bundle of a finished season of a suite, whose runs are below `data`.
///
/// # Errors
///
/// Those of the store, a run that cannot be read, or a season that does not exist, is not over, or has too many runs.
pub async fn of_suite(store: &Store, data: &Path, suite: &str, season: &str) -> anyhow::Result<Vec<u8>> {
    let rows = store.seasons(&format!("suite:{suite}")).await?;
    let row = rows.into_iter().find(|row| row.name == season);
    let row = row.with_context(|| format!("expected a season of the suite {suite} that has begun, got {season}"))?;
    anyhow::ensure!(row.frozen_ms.is_some(), "season {season}: expected a season that is over; it is still open");
    let body: Value = serde_json::from_str(&row.body)?;
    let runs = store.finished_runs(Some([suite, season]), "", MAX_RUNS + 1).await?;
    anyhow::ensure!(runs.len() <= MAX_RUNS, "season {season}: expected at most {MAX_RUNS} runs, got more");
    let runs: Vec<String> = runs.into_iter().map(|row| row.name).collect();
    let (mut files, mut archives) = (Files::new(), Vec::new());
    for run in &runs {
        let archive = Archive::open(run, data)?;
        let (pages, _) = report_files::pages(&archive);
        files.insert(format!("{run}{PACKED}"), bundle::write(&archive.about, &archive.files, pages)?);
        archives.push(archive);
    }
    files.insert(TABLE.to_owned(), json_file(&suite_table(&archives))?);
    let season: Season = serde_json::from_value(body["season"].clone())?;
    let (program, suite) = (ludex_play::PROGRAM.to_owned(), suite.to_owned());
    let description = SuiteSeason { program, suite, season, runs };
    let title = format!("{}-{}", description.suite, description.season.name);
    pack(&title, SeasonDescription::Suite(description), files)
}

/// Verifies the bundle of a season: checksums, records, completeness, and table.
///
/// # Errors
///
/// A description that cannot be read, or a bundle of a run that cannot be opened.
pub fn verify(place: &Path, files: &Files) -> anyhow::Result<SeasonAudit> {
    let bytes = files.get(SEASON).context("expected season.json in the bundle of a season")?;
    let description: SeasonDescription = serde_json::from_slice(bytes).context("reading season.json failed")?;
    let mut out = SeasonAudit { refused: check(place, files), ..SeasonAudit::default() };
    if !files.contains_key(SUMS) {
        out.refuse(place, SUMS, "is missing".to_owned());
    } else if out.refused.is_empty() {
        out.notes.push(format!("all checksums of {SUMS} match"));
    }
    match description {
        SeasonDescription::Ladder(ladder) => ladder.verify(place, files, &mut out)?,
        SeasonDescription::Suite(suite) => suite.verify(place, files, &mut out)?,
    }
    Ok(out)
}

impl SuiteSeason {
    fn verify(&self, place: &Path, files: &Files, out: &mut SeasonAudit) -> anyhow::Result<()> {
        out.title = format!("season {} of the suite {}", self.season.name, self.suite);
        let mut archives = Vec::new();
        for run in &self.runs {
            let name = format!("{run}{PACKED}");
            let Some(bytes) = files.get(&name) else {
                out.refuse(place, &name, "is missing, but season.json lists its run".to_owned());
                continue;
            };
            let own = read_bytes(bytes, &name)?;
            let archive = Archive::of_files(&place.join(&name), own.clone())?;
            let audit = audit(&archive, &own, || ());
            out.refused.extend(check(&place.join(&name), &own));
            out.refused.extend(audit.refused);
            out.verified += audit.good;
            out.notes.push(match audit.completeness.complete {
                true => format!("run {run}: complete: all {} matches of the plan", audit.completeness.planned),
                false => format!("run {run}: NOT COMPLETE: {}", audit.completeness.why.join("; ")),
            });
            archives.push(archive);
        }
        let unlisted = |name: &&String| name.strip_suffix(PACKED).is_some_and(|run| self.runs.iter().all(|r| r != run));
        for name in files.keys().filter(unlisted) {
            out.refuse(place, name, "belongs to no run of the season".to_owned());
        }
        out.compare(place, files, &suite_table(&archives));
        Ok(())
    }
}

/// Returns the ratings and results of all runs of a season.
fn suite_table(runs: &[Archive]) -> Value {
    let runs: Vec<&Archive> = runs.iter().collect();
    let about = ludex_report::report::ReportAbout::default();
    report_files::report(&runs, RatingOptions::default(), about, |_| None).0.to_json()
}

/// Adds description, card and checksums, and packs the files.
fn pack(title: &str, description: SeasonDescription, mut files: Files) -> anyhow::Result<Vec<u8>> {
    files.insert(SEASON.to_owned(), json_file(&json!(description))?);
    files.insert(CARD.to_owned(), card(title, &files).into_bytes());
    files.insert(SUMS.to_owned(), sums(&files).into_bytes());
    bundle::pack(title, &files)
}

fn card(title: &str, files: &Files) -> String {
    let about = |name: &str| match name {
        SEASON => "the season: game or suite, rules, settings, roster",
        TABLE => "the final table",
        name if name.ends_with(PACKED) => "the bundle of a run",
        _ => "the records of the matches, one per line",
    };
    let mut rows = String::new();
    for (name, bytes) in files {
        // Writing to a string cannot fail.
        let _ = writeln!(rows, "| `{name}` | {} | {} |", bytes.len(), about(name));
    }
    format!(
        "# {title}\n\nA finished season. `ludex verify FILE` checks the checksums, replays every match, and computes the table \
         again from the records.\n\n| file | bytes | |\n|---|---|---|\n{rows}| `{SUMS}` | | SHA-256 of each file |\n"
    )
}

fn json_file(value: &Value) -> serde_json::Result<Vec<u8>> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?).into_bytes())
}
