//! `ludex merge`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use ludex_play::runs::evaluation::EvaluationResults;
use ludex_play::runs::folder::path_of;
use ludex_play::runs::merge::merge;
use ludex_report::runs::archive::Archive;
use serde_json::json;

use super::evaluate::{self, show, show_more};
use super::print;

/// What `ludex merge` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// All shards of a run: names below DATA/runs, folders, or bundles
    #[arg(required = true, value_name = "RUN")]
    shards: Vec<String>,
    /// Name of the run, which must be that of the shards [default: that of the shards]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Folder to write the run into [default: DATA/runs/NAME]
    #[arg(long, value_name = "DIR", conflicts_with = "run")]
    into: Option<PathBuf>,
    /// Folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let shards: Vec<Archive> =
        args.shards.iter().map(|name| Archive::open(name, &args.data)).collect::<anyhow::Result<_>>()?;
    for shard in &shards {
        let run = &shard.about.run;
        let other = args.run.as_ref().filter(|name| *name != run);
        anyhow::ensure!(
            other.is_none(),
            "{} is a shard of {run}, and the names of its matches say so: write --run {run}, or --into DIR for another folder",
            shard.place.display()
        );
    }
    let bar = print::progress(shards.iter().map(|shard| shard.found.len() as u64).sum(), "verifying");
    let merged = merge(&shards, || bar.inc(1))?;
    bar.finish_and_clear();
    let run = &merged.settings.run;
    let folder = args.into.unwrap_or_else(|| path_of(&args.data, run));
    merged.write(&folder)?;

    let plan = merged.plan()?;
    let EvaluationResults { rows, groups, summaries, .. } = EvaluationResults::of(run, &plan, &merged.records)?;
    let agents: Vec<&str> =
        merged.settings.agents.iter().filter(|a| a.candidate && !a.variant).map(|a| a.name.as_str()).collect();
    let title = format!("{}: {}", plan.suite.title, agents.join(", "));
    let files = evaluate::write_report(&folder, title);
    if args.json {
        return Ok(print::json(&json!({
            "run": run, "shards": shards.len(), "matches": merged.records.len(), "parts": rows, "groups": groups,
            "summaries": summaries, "folder": folder, "files": files,
        }))?);
    }
    let mut out = io::stdout().lock();
    show(&mut out, &rows)?;
    show_more(&mut out, &rows, &groups, &summaries)?;
    let (shards, matches) =
        (print::count(shards.len(), "shard", "shards"), print::count(merged.records.len(), "match", "matches"));
    writeln!(out, "{shards}, {matches}\n{}", folder.display())?;
    Ok(())
}
