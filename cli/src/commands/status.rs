//! `ludex status`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;

use super::evaluate::{costs, show, show_more};
use super::{print, tournament};
use ludex_play::runs::archive::Archive;
use ludex_play::runs::folder::Look;
use ludex_play::runs::lines::LogLine;
use ludex_play::runs::play::results;
use ludex_play::runs::settings::RunKind;
use ludex_play::runs::summary::{counting, groups, rows, verified};

/// What `ludex status` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The run's name, or its folder
    run: String,
    /// Folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let path = Archive::folder(&args.run, &args.data)?;
    let look = Look::at(&path)?;
    if look.settings.kind == RunKind::Tournament {
        return tournament::status(&look, args.json);
    }
    let plan = look.settings.plan(&look.suite)?;
    let records = &look.past.records;
    let (done, _) = results(&look.settings.run, &plan, records);
    let due: usize = plan.next(&done).iter().map(|b| b.matches.len()).sum();
    let run = &look.settings.run;
    let rows = rows(run, &plan, &done, verified(counting(run, &done, records))?);
    // Matches that end after the run has stopped say less than why it stopped.
    let last = look.past.log.iter().rev().find(|line| line.what != "failed").or(look.past.log.last());
    let state = if look.playing {
        "playing"
    } else if due == 0 {
        "done"
    } else {
        "stopped"
    };
    if args.json {
        return Ok(print::json(&json!({
            "run": look.settings.run, "state": state, "matches": records.len(), "due": due, "parts": rows,
            "usage": look.past.usage, "last": last, "folder": path,
        }))?);
    }
    let mut out = io::stdout().lock();
    show(&mut out, &rows)?;
    show_more(&mut out, &rows, &groups(&plan, &rows))?;
    // How many matches it takes to find a level is not known in advance.
    let more = if due > 0 { " at least" } else { "" };
    writeln!(
        out,
        "{state}: {}, {due} due{more}; {}",
        print::count(records.len(), "match", "matches"),
        costs(&look.past.usage)
    )?;
    if let Some(LogLine { what, at, why, .. }) = last {
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        writeln!(out, "last: {what} at {at}{why}")?;
    }
    Ok(())
}
