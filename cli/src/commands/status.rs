//! `ludex status`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use ludex_play::runs::folder::RunStatus;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::results;
use ludex_report::runs::run_files::LogLine;
use ludex_report::runs::settings::RunKind;
use ludex_report::runs::summary::{counting_or_invalid, groups, rows, summaries, verified_with};
use serde_json::json;

use super::evaluate::{costs, show, show_more};
use super::{print, tournament};

/// What `ludex status` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's name, or its folder [default: list all runs]
    run: Option<String>,
    /// Folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let Some(name) = &args.run else { return list(&args) };
    let path = Archive::folder(name, &args.data)?;
    let look = RunStatus::at(&path)?;
    if look.settings.kind == RunKind::Tournament {
        return tournament::status(&look, args.json);
    }
    let plan = look.settings.plan(&look.suite)?;
    let records = &look.past.records;
    let (done, _) = results(&look.settings.run, &plan, records);
    let due: usize = plan.next(&done).iter().map(|b| b.matches.len()).sum();
    let run = &look.settings.run;
    let rows = rows(run, &plan, &done, verified_with(counting_or_invalid(run, &done, records), plan.marks())?);
    // Matches that end after the run has stopped say less than why it stopped.
    let last = look.past.log.iter().rev().find(|line| line.what != "failed").or(look.past.log.last());
    let state = state(look.playing, due == 0);
    if args.json {
        return Ok(print::json(&json!({
            "run": look.settings.run, "shard": look.settings.shard, "state": state, "matches": records.len(), "due": due, "parts": rows,
            "usage": look.past.usage, "last": last, "folder": path,
        }))?);
    }
    let mut out = io::stdout().lock();
    show(&mut out, &rows)?;
    show_more(&mut out, &rows, &groups(&plan, &rows), &summaries(&plan, &rows))?;
    // How many matches it takes to find a level is not known in advance.
    let more = if due > 0 { " at least" } else { "" };
    let shard = look.settings.shard.map_or_else(String::new, |shard| format!("shard {shard}, "));
    writeln!(
        out,
        "{shard}{state}: {}, {due} due{more}; {}",
        print::count(records.len(), "match", "matches"),
        costs(&look.past.usage)
    )?;
    if let Some(LogLine { what, at, why, .. }) = last {
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        writeln!(out, "last: {what} at {at}{why}")?;
    }
    Ok(())
}

fn state(playing: bool, done: bool) -> &'static str {
    match (playing, done) {
        (true, _) => "playing",
        (false, true) => "done",
        (false, false) => "stopped",
    }
}

/// One line for each run, the last that was touched first.
fn list(args: &Args) -> anyhow::Result<()> {
    let runs = Archive::list(&args.data);
    let mut found = Vec::new();
    for name in &runs {
        match Archive::folder(name, &args.data).and_then(|path| RunStatus::at(&path)) {
            Ok(look) => found.push((name, look)),
            Err(e) => eprintln!("ludex: {name}: {e:#}"),
        }
    }
    let last = |look: &RunStatus| look.past.log.last().map_or_else(String::new, |line| line.at.clone());
    found.sort_by_key(|(_, look)| std::cmp::Reverse(last(look)));
    let ends = |look: &RunStatus| {
        let mut last = look.past.log.iter().rev().map(|line| line.what.as_str());
        last.find(|what| matches!(*what, "done" | "begun" | "resumed")) == Some("done")
    };
    let state = |look: &RunStatus| state(look.playing, ends(look));
    let kind = |look: &RunStatus| match look.settings.kind {
        RunKind::Tournament => "tournament",
        _ => "evaluation",
    };
    let agents = |look: &RunStatus| look.settings.agents.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>();
    if args.json {
        let runs = found.iter().map(|(name, look)| {
            json!({
                "run": name, "shard": look.settings.shard, "kind": kind(look), "state": state(look), "matches": look.past.records.len(),
                "agents": agents(look), "last": look.past.log.last(),
            })
        });
        return Ok(print::json(&json!({ "runs": runs.collect::<Vec<_>>() }))?);
    }
    let mut out = io::stdout().lock();
    if found.is_empty() {
        return Ok(writeln!(out, "there are no runs in {}", args.data.join("runs").display())?);
    }
    let head = ["run", "kind", "state", "matches", "last change", "agents"].map(str::to_owned).to_vec();
    let row = |(name, look): &(&String, RunStatus)| {
        let agents = agents(look);
        let more = if agents.len() > 3 { format!(" and {} more", agents.len() - 3) } else { String::new() };
        let few = agents.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let matches = look.past.records.len().to_string();
        vec![(*name).clone(), kind(look).into(), state(look).into(), matches, last(look), few + &more]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(found.iter().map(row)).collect();
    Ok(print::table(&mut out, &rows, |k| k == 3)?)
}
