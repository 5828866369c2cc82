//! `ludex admin prune`.

use std::io::{self, Write as _};

use ludex_server::retention::{OldData, prune};
use serde_json::json;

use crate::commands::store_args::StoreArgs;
use crate::commands::{print, records, serve};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Remove old data of this kind (unrated, logs, runs) after this many days, e.g. unrated=30d; may be repeated
    #[arg(long = "retain", value_name = "KIND=AGE", required = true)]
    retention: Vec<String>,
    /// Count the old data without removing it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let retention = serve::retention(&args.retention)?;
    let data = &args.store.data;
    let old = records::with_store(&args.store, async |store| prune(&store, data, &retention, args.dry_run).await)?;
    if args.json {
        return Ok(print::json(&json!({ "dry_run": args.dry_run, "old": old }))?);
    }
    let OldData { unrated, logs, runs } = old;
    let mut out = io::stdout().lock();
    for (count, one, many) in
        [(unrated, "unrated match", "unrated matches"), (logs, "log", "logs"), (runs, "run", "runs")]
    {
        let Some(count) = count else { continue };
        let end = if args.dry_run { "would be removed" } else { "removed" };
        writeln!(out, "{} {end}", print::count(usize::try_from(count)?, one, many))?;
    }
    Ok(())
}
