//! `ludex check client`.

use std::path::PathBuf;
use std::time::Duration;

use super::CheckResult;
use super::report::{print_check, report};
use ludex_conformance::client::{ClientCheckOptions, Level, check};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Check the client at this conformance level
    #[arg(long, value_enum, default_value = "resumable")]
    level: Level,
    /// Run only the checks whose names contain this text [default: all]
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Time limit in seconds for each action of the client (start, reconnect, reply)
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    timeout: u64,
    /// Write the decoded frames of failed checks to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
    /// Start the client with this command line; {url} becomes the server's address, and the environment variables
    /// LUDEX_URL, LUDEX_TOKEN, LUDEX_AGENT and LUDEX_GAME (at --level runs also LUDEX_SUITE and LUDEX_RUN) are set
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(args: Args) -> CheckResult {
    let options = ClientCheckOptions {
        command: args.command,
        level: args.level,
        patience: Duration::from_secs(args.timeout),
        only: args.only,
        trace: args.trace,
    };
    let subject = ("command", options.command.clone().into());
    report(args.json, subject, check(&options, print_check(args.json)))
}
