//! Merging of the shards of a run. The result equals a run without shards, except for times.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use ludex_protocol::record::Record;
use ludex_referee::suite::plan::Plan;
use ludex_referee::suite::shard::Shard;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::{self, Files};
use ludex_report::runs::episode::key_of;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::results;
use ludex_report::runs::run_files::{CALLS, EPISODES, LABELS, LOG, LogLine, RUN, SUITE};
use ludex_report::runs::settings::{RunKind, RunSettings};
use ludex_report::runs::summary::ids;

use super::audit::{RunState, audit};
use super::folder::begin;
use super::settings;
use crate::files::write_whole;

/// Maximum number of a shard's faults in an error message.
const NAMED: usize = 3;

/// Run that was merged from its shards.
pub struct MergedRun {
    pub settings: RunSettings,
    /// Records of all shards, in plan order.
    pub records: Vec<Record>,
    suite: String,
    /// Files of the run other than the records.
    files: Files,
}

/// Verifies and merges all shards of a run. `done` is called after each verified record.
///
/// # Errors
/// Returns an error that names the shards at fault if:
/// - a run is not a shard, or the shards differ in their settings,
/// - a shard is missing, repeated or unfinished,
/// - a shard has faults.
pub fn merge(shards: &[Archive], done: impl Fn() + Sync) -> anyhow::Result<MergedRun> {
    let shards = sorted(shards)?;
    let faults: Vec<String> = shards.iter().filter_map(|(shard, run)| fault(*shard, run, &done)).collect();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));

    let runs: Vec<&Archive> = shards.values().copied().collect();
    let first = runs.first().context("expected at least one shard, got none")?;
    let begun = runs.iter().map(|run| run.about.begun.clone()).min().unwrap_or_default();
    let settings = RunSettings { shard: None, begun, ..first.about.clone() };
    let suite = String::from_utf8(first.files.get(SUITE).cloned().unwrap_or_default())?;
    let plan = settings.plan(&suite)?;

    let (mut records, mut calls, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for run in &runs {
        let lines = lines_of(run, EPISODES);
        for found in &run.found {
            records.push((found.parts.clone().record()?, lines[found.source.line - 1]));
        }
        let lines = lines_of(run, CALLS);
        calls.extend(run.calls.values().flatten().map(|call| (&call.episode, call.line, lines[call.line - 1])));
        let lines = lines_of(run, LABELS);
        labels.extend(run.labels.iter().map(|label| (label, lines[label.line - 1])));
    }
    let plain: Vec<Record> = records.iter().map(|(record, _)| record.clone()).collect();
    let (over, _) = results(&settings.run, &plan, &plain);
    let walk = PlanProgress::new(&plan, &ids(&plan), &over, &[]);
    let missing: usize = walk.due.iter().map(|block| block.matches.len()).sum();
    // Complete shards cover the whole plan, so a missing match means that the sharding rule is wrong.
    ensure!(
        missing == 0 && walk.extra.is_empty(),
        "expected all planned matches in the shards, but {missing} are missing"
    );

    // A repeated match has two records; the record of the failed match comes first.
    let place = |episode: &str| {
        let (key, again) = key_of(&settings.run, episode)?;
        Some((walk.place(key)?, again))
    };
    records.sort_by_key(|(record, _)| place(&record.header.episode));
    calls.sort_by_key(|(episode, line, _)| (place(episode), *line));
    labels.sort_by_key(|(label, _)| (place(&label.episode), label.seat, label.turn, &label.rubric, &label.by));
    let log = log(&runs)?;
    let mut files = Files::from([
        (EPISODES.to_owned(), joined(records.iter().map(|(_, line)| *line))),
        (CALLS.to_owned(), joined(calls.iter().map(|(.., line)| *line))),
        (LOG.to_owned(), joined(log.iter().map(String::as_bytes))),
    ]);
    if !labels.is_empty() {
        files.insert(LABELS.to_owned(), joined(labels.iter().map(|(_, line)| *line)));
    }
    let records = records.into_iter().map(|(record, _)| record).collect();
    Ok(MergedRun { settings, records, suite, files })
}

impl MergedRun {
    /// Rebuilds the plan of the merged run.
    ///
    /// # Errors
    /// Returns an error if this version cannot read the suite.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        self.settings.plan(&self.suite)
    }

    /// Writes the merged run to a new folder.
    ///
    /// # Errors
    /// Returns an error if the folder already contains a run or cannot be written.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let place = folder.display();
        ensure!(!folder.join(RUN).exists(), "{place} contains a run; remove the run or use another folder");
        let write = || {
            std::fs::create_dir_all(folder)?;
            self.files.iter().try_for_each(|(name, bytes)| write_whole(folder, name, bytes))?;
            begin(folder, &self.settings, &self.suite)
        };
        write().with_context(|| format!("{} cannot be written", folder.display()))
    }
}

/// Returns the shards in order, after checking that all are shards of one run and that each occurs exactly once.
fn sorted(runs: &[Archive]) -> anyhow::Result<BTreeMap<Shard, &Archive>> {
    let mut found: BTreeMap<Shard, Vec<&Archive>> = BTreeMap::new();
    for run in runs {
        let shard = run.about.shard.filter(|_| run.about.kind == RunKind::Evaluate);
        let shard = shard.with_context(|| {
            format!("expected a shard (from `ludex evaluate --shard K/N`), got {}", run.place.display())
        })?;
        found.entry(shard).or_default().push(run);
    }
    let (Some(first), Some(of)) = (runs.first(), found.keys().next().map(|shard| shard.of())) else {
        bail!("expected at least one shard, got none")
    };
    for run in &runs[1..] {
        let whole = |run: &Archive| RunSettings { shard: None, ..run.about.clone() };
        let mut differ = settings::differences(&whole(first), &whole(run));
        let shards = |run: &Archive| run.about.shard.map_or(0, Shard::of);
        for (what, was, is) in [
            ("run", first.about.run.clone(), run.about.run.clone()),
            ("number of shards", shards(first).to_string(), shards(run).to_string()),
        ] {
            if was != is {
                differ.insert(0, format!("{what}: was {was}, is {is}"));
            }
        }
        let list: String = differ.iter().map(|what| format!("\n  {what}")).collect();
        let [a, b] = [first, run].map(|run| run.place.display());
        ensure!(differ.is_empty(), "expected shards of one run; {a} and {b} differ:{list}");
    }
    let mut wrong = Vec::new();
    for number in 1..=of {
        let places = found.iter().find(|(shard, _)| shard.number() == number).map(|(_, runs)| runs.as_slice());
        match places.unwrap_or_default() {
            [] => wrong.push(format!("shard {number} of {of} is missing")),
            [_] => {}
            several => {
                let places: Vec<String> = several.iter().map(|run| run.place.display().to_string()).collect();
                let times = if several.len() == 2 { "twice".to_owned() } else { format!("{} times", several.len()) };
                wrong.push(format!("shard {number} of {of}: expected once, got {times}: {}", places.join(" and ")));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(found.into_iter().filter_map(|(shard, runs)| Some((shard, *runs.first()?))).collect())
}

/// Describes the fault of a shard, if any.
fn fault(shard: Shard, run: &Archive, done: &(impl Fn() + Sync)) -> Option<String> {
    let name = format!("shard {} of {} ({})", shard.number(), shard.of(), run.place.display());
    let found = audit(run, &run.files, done);
    let refused: Vec<_> = bundle::check(&run.place, &run.files).into_iter().chain(found.refused).collect();
    if !refused.is_empty() {
        let named: String = refused.iter().take(NAMED).map(|what| format!("\n  {what}")).collect();
        let more = refused.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("\n  and {more} more; `ludex verify` lists all") } else { String::new() };
        return Some(format!("{name} has faults:{named}{more}"));
    }
    // Discarded matches count as finished; the merged run lists them as the shard does.
    let complete = found.completeness.state == RunState::Done && found.completeness.missing.is_empty();
    (!complete).then(|| {
        format!("{name} is not complete: {}; repeat `ludex evaluate` to continue", found.completeness.why.join("; "))
    })
}

/// Returns the lines of a run's file.
fn lines_of<'a>(run: &'a Archive, file: &str) -> Vec<&'a [u8]> {
    let bytes = run.files.get(file).map(Vec::as_slice).unwrap_or_default();
    bytes.split(|&byte| byte == b'\n').collect()
}

/// Merges the logs of the shards by time into a log with one start line and one end line.
fn log(runs: &[&Archive]) -> anyhow::Result<Vec<String>> {
    let mut lines: Vec<&LogLine> = runs.iter().flat_map(|run| &run.log).collect();
    lines.sort_by(|a, b| a.at.cmp(&b.at));
    let (begun, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.what == "begun");
    let (ended, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|line| line.what == "done");
    let all = begun.first().into_iter().chain(&rest).chain(ended.last());
    all.map(|line| Ok(serde_json::to_string(line)?)).collect()
}

fn joined<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    lines.flat_map(|line| [line, b"\n"].concat()).collect()
}
