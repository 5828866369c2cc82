//! `ludex check-client`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::checks;
use ludex_conformance::client::{ClientCheckOptions, Level, check};

/// What `ludex check-client` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The level that the client claims
    #[arg(long, value_enum, default_value = "resumable")]
    level: Level,
    /// Only the checks whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Seconds that each action of the client may take: starting, reconnecting, answering
    #[arg(long, default_value_t = 15)]
    patience: u64,
    /// Write all frames of the checks that find a fault to this file, decoded, one JSON object per line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
    /// The client's command line; {url} in it becomes the server's address, and its environment has LUDEX_URL, LUDEX_TOKEN,
    /// LUDEX_AGENT and LUDEX_GAME; with --level runs, some checks set LUDEX_SUITE and LUDEX_RUN too
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(args: Args) -> ExitCode {
    let patience = Duration::from_secs(args.patience);
    let plan =
        ClientCheckOptions { command: args.command, level: args.level, patience, only: args.only, trace: args.trace };
    let subject = ("command", plan.command.clone().into());
    checks::report(args.json, subject, check(&plan, checks::line(args.json)))
}
