//! `ludex admin doctor`.

use std::io::{self, Write as _};

use ludex_server::doctor::{CheckStatus, Finding, examine};
use serde_json::json;

use crate::commands::store_args::StoreArgs;
use crate::commands::{block_on, print};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let findings = block_on(async { Ok(examine(&args.store.data, &args.store.location()).await) })?;
    if args.json {
        print::json(&json!({ "data": args.store.data.display().to_string(), "checks": findings }))?;
    } else {
        let mut out = io::stdout().lock();
        for finding in &findings {
            writeln!(out, "{}", print::plain(&line(finding)))?;
        }
    }
    let problems = findings.iter().filter(|finding| finding.status == CheckStatus::Problem).count();
    anyhow::ensure!(problems == 0, "{} found", print::count(problems, "problem", "problems"));
    Ok(())
}

fn line(finding: &Finding) -> String {
    let status = match finding.status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Problem => "problem",
    };
    let remedy = finding.remedy.iter().map(|remedy| format!("; {remedy}")).collect::<String>();
    format!("{status:<8} {}: {}{remedy}", finding.check, finding.text)
}
