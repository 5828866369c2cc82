//! `ludex evaluate --merge`.

use std::io::{self, Write as _};

use ludex_play::runs::evaluation::EvaluationResults;
use ludex_play::runs::folder::path_of;
use ludex_play::runs::merge::merge;
use ludex_report::runs::archive::Archive;
use serde_json::json;

use super::{Args, print_details, print_table, write_report};
use crate::commands::print;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let shards: Vec<Archive> =
        args.merge.iter().map(|name| Archive::open(name, &args.data)).collect::<anyhow::Result<_>>()?;
    let bar = print::progress(shards.iter().map(|shard| shard.found.len() as u64).sum(), "verifying");
    let merged = merge(&shards, || bar.inc(1))?;
    bar.finish_and_clear();
    let run = &merged.settings.run;
    let folder = args.into.clone().unwrap_or_else(|| path_of(&args.data, run));
    merged.write(&folder)?;

    let plan = merged.plan()?;
    let EvaluationResults { rows, groups, summaries, .. } = EvaluationResults::of(run, &plan, &merged.records)?;
    let agents: Vec<&str> =
        merged.settings.agents.iter().filter(|a| a.candidate && !a.variant).map(|a| a.name.as_str()).collect();
    let title = format!("{}: {}", plan.suite.title, agents.join(", "));
    let (files, _) = write_report(&folder, title);
    if args.json {
        return Ok(print::json(&json!({
            "run": run, "shards": shards.len(), "matches": merged.records.len(), "parts": rows, "groups": groups,
            "summaries": summaries, "folder": folder, "files": files,
        }))?);
    }
    let mut out = io::stdout().lock();
    print_table(&mut out, &rows)?;
    print_details(&mut out, &rows, &groups, &summaries)?;
    let (shards, matches) =
        (print::count(shards.len(), "shard", "shards"), print::count(merged.records.len(), "match", "matches"));
    writeln!(out, "{shards}, {matches}\n{}", folder.display())?;
    Ok(())
}
