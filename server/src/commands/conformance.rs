//! `ludex conformance`.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::kit::server::{Plan, check};

/// What `ludex conformance` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The server, e.g. ws://127.0.0.1:7878
    url: String,
    /// The token for the server [default: LUDEX_TOKEN of the environment]
    #[arg(long)]
    token: Option<String>,
    /// The name to play under [default: the token's own, without a token "conformance"]
    #[arg(long)]
    agent: Option<String>,
    /// Only the checks whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Seconds that anything may take
    #[arg(long, default_value_t = 10)]
    patience: u64,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

/// Exit code 0: conformant, 1: faults, 2: nothing could be checked.
pub(super) fn run(args: Args) -> ExitCode {
    let plan = Plan {
        url: args.url,
        token: args.token.or_else(super::token_of_environment),
        agent: args.agent,
        patience: Duration::from_secs(args.patience),
        only: args.only,
    };
    let checks = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(anyhow::Error::from);
    let checks = checks.and_then(|runtime| {
        runtime.block_on(check(&plan, |check| {
            if !args.json {
                println!("{check}");
            }
        }))
    });
    let checks = match checks {
        Ok(checks) => checks,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            return ExitCode::from(2);
        }
    };
    let faults = checks.iter().filter(|check| check.fault.is_some()).count();
    if args.json {
        println!("{}", json!({ "url": plan.url, "checks": checks, "faults": faults }));
    }
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
