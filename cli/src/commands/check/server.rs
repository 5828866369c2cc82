//! `ludex check server`.

use std::path::PathBuf;
use std::time::Duration;

use super::CheckResult;
use super::report::{print_check, report};
use crate::commands::environment_token;
use ludex_client::Options;
use ludex_conformance::server::{ServerCheckOptions, check};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Connect to this server, e.g. ws://127.0.0.1:7878
    url: String,
    /// Authenticate with this token [default: LUDEX_TOKEN from the environment]
    #[arg(long)]
    token: Option<String>,
    /// Trust the certificates in this PEM file [default: SSL_CERT_FILE and the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Play under this agent name [default: the token's name, or "conformance" without a token]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Run only the checks whose names contain this text [default: all]
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Time limit in seconds for each reply of the server
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u64,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> CheckResult {
    let (json, url) = (args.json, args.url.clone());
    let checks = async move {
        let trusting = args.ca.map(|file| Options::default().ca(file)).transpose()?;
        let options = ServerCheckOptions {
            url: args.url,
            token: args.token.or_else(environment_token),
            agent: args.name,
            patience: Duration::from_secs(args.timeout),
            only: args.only,
            tls: trusting.and_then(|options| options.tls),
        };
        check(&options, print_check(json)).await
    };
    report(json, ("url", url.into()), checks)
}
