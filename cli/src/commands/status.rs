//! `ludex status`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use ludex_play::runs::folder::RunStatus;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::results;
use ludex_report::runs::run_files::LogLine;
use ludex_report::runs::settings::RunKind;
use ludex_report::runs::summary::{PartResult, counting_or_invalid, groups, rows, summaries, verified_with};
use serde_json::json;

use super::evaluate::{costs, print_details, print_table};
use super::{print, tournament};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Name or folder of the run to print [default: list all runs]
    run: Option<String>,
    /// Read the runs in this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let Some(name) = &args.run else { return list(&args) };
    let path = Archive::folder(name, &args.data)?;
    let status = RunStatus::at(&path)?;
    if status.settings.kind == RunKind::Tournament {
        return tournament::print_status(&status, args.json);
    }
    let plan = status.settings.plan(&status.suite)?;
    let records = &status.past.records;
    let (done, _) = results(&status.settings.run, &plan, records);
    let blocks = plan.next(&done);
    let due: usize = blocks.iter().map(|b| b.matches.len()).sum();
    let run = &status.settings.run;
    let rows = rows(run, &plan, &done, verified_with(counting_or_invalid(run, &done, records), plan.marks())?);
    // Prefer the reason of a stop over matches that failed after the stop.
    let last = status.past.log.iter().rev().find(|line| line.what != "failed").or(status.past.log.last());
    let state = state(status.playing, due == 0);
    let left = seconds_left(&status, due).filter(|_| status.playing);
    if args.json {
        return Ok(print::json(&json!({
            "run": status.settings.run, "shard": status.settings.shard, "state": state, "matches": records.len(), "due": due, "parts": rows,
            "seconds_left": left, "usage": status.past.usage, "last": last, "folder": path,
        }))?);
    }
    let mut out = io::stdout().lock();
    let played = |row: &&PartResult| row.tally.games() + row.discarded + row.invalid > 0;
    let shown: Vec<PartResult> = rows.iter().filter(played).cloned().collect();
    if !shown.is_empty() {
        print_table(&mut out, &shown)?;
    }
    print_details(&mut out, &rows, &groups(&plan, &rows), &summaries(&plan, &rows))?;
    // The number of matches that determine a level is not known in advance.
    let more = if due > 0 { " at least" } else { "" };
    let shard = status.settings.shard.map_or_else(String::new, |shard| format!("shard {shard}, "));
    writeln!(
        out,
        "{shard}{state}: {}, {due} due{more}{}; {}",
        print::count(records.len(), "match", "matches"),
        left.map_or_else(String::new, |seconds| format!(", about {} left", indicatif::HumanDuration(seconds))),
        costs(&status.past.usage)
    )?;
    let unfinished: BTreeMap<&str, usize> = blocks.iter().fold(BTreeMap::new(), |mut parts, block| {
        *parts.entry(plan.parts[block.part].part.id.as_str()).or_default() += block.matches.len();
        parts
    });
    if !unfinished.is_empty() {
        let parts: Vec<String> = unfinished.iter().map(|(part, due)| format!("{part} ({due} due)")).collect();
        write!(out, "{}", print::wrapped(&format!("unfinished parts: {}", parts.join(", ")), 120))?;
    }
    if let Some(LogLine { what, at, why, .. }) = last {
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        writeln!(out, "last: {what} at {at}{why}")?;
    }
    Ok(())
}

/// Estimates the time until the end of a run that is played, from the matches since its start or last resumption; `None` before
/// the first of them.
fn seconds_left(status: &RunStatus, due: usize) -> Option<Duration> {
    let log = &status.past.log;
    let begun = log.iter().rev().find(|line| matches!(line.what.as_str(), "begun" | "resumed"))?;
    let played =
        status.past.records.iter().filter(|record| record.footer.ended.as_ref().is_some_and(|at| *at > begun.at));
    let played = played.count();
    let elapsed = Timestamp::now().duration_since(begun.at.parse().ok()?);
    (played > 0).then(|| Duration::try_from_secs_f64(elapsed.as_secs_f64() / played as f64 * due as f64).ok())?
}

fn state(playing: bool, done: bool) -> &'static str {
    match (playing, done) {
        (true, _) => "playing",
        (false, true) => "done",
        (false, false) => "stopped",
    }
}

/// Prints a line per run, sorted by last change, latest first.
fn list(args: &Args) -> anyhow::Result<()> {
    let runs = Archive::list(&args.data);
    let mut found = Vec::new();
    for name in &runs {
        match Archive::folder(name, &args.data).and_then(|path| RunStatus::at(&path)) {
            Ok(status) => found.push((name, status)),
            Err(e) => eprintln!("ludex: {name}: {e:#}"),
        }
    }
    let last = |status: &RunStatus| status.past.log.last().map_or_else(String::new, |line| line.at.clone());
    found.sort_by_key(|(_, status)| std::cmp::Reverse(last(status)));
    let ends = |status: &RunStatus| {
        let mut last = status.past.log.iter().rev().map(|line| line.what.as_str());
        last.find(|what| matches!(*what, "done" | "begun" | "resumed")) == Some("done")
    };
    let state = |status: &RunStatus| state(status.playing, ends(status));
    let kind = |status: &RunStatus| match status.settings.kind {
        RunKind::Tournament => "tournament",
        _ => "evaluation",
    };
    let agents = |status: &RunStatus| status.settings.agents.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>();
    if args.json {
        let runs = found.iter().map(|(name, status)| {
            json!({
                "run": name, "shard": status.settings.shard, "kind": kind(status), "state": state(status), "matches": status.past.records.len(),
                "agents": agents(status), "last": status.past.log.last(),
            })
        });
        return Ok(print::json(&json!({ "runs": runs.collect::<Vec<_>>() }))?);
    }
    let mut out = io::stdout().lock();
    if found.is_empty() {
        return Ok(writeln!(out, "no runs in {} yet", args.data.join("runs").display())?);
    }
    let head = ["run", "kind", "state", "matches", "last change", "agents"].map(str::to_owned).to_vec();
    let row = |(name, status): &(&String, RunStatus)| {
        let agents = agents(status);
        let more = if agents.len() > 3 { format!(" and {} more", agents.len() - 3) } else { String::new() };
        let few = agents.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let matches = status.past.records.len().to_string();
        vec![(*name).clone(), kind(status).into(), state(status).into(), matches, last(status), few + &more]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(found.iter().map(row)).collect();
    Ok(print::table(&mut out, &rows, |k| k == 3)?)
}
