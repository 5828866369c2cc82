//! `ludex conformance`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use super::checks;
use ludex_client::Options;
use ludex_conformance::server::{ServerCheckOptions, check};

/// What `ludex conformance` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The server, e.g. ws://127.0.0.1:7878
    url: String,
    /// The token for the server [default: the environment variable LUDEX_TOKEN]
    #[arg(long)]
    token: Option<String>,
    /// File of certificates (PEM) to trust, for a server with one of its own [default: SSL_CERT_FILE, and the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name to play under [default: the token's name; "conformance" if there is no token]
    #[arg(long)]
    agent: Option<String>,
    /// Only the checks whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Seconds that each answer may take
    #[arg(long, default_value_t = 10)]
    patience: u64,
    /// Print one JSON document at the end instead of lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> ExitCode {
    let (json, url) = (args.json, args.url.clone());
    let checks = async move {
        let trusting = args.ca.map(|file| Options::default().ca(file)).transpose()?;
        let plan = ServerCheckOptions {
            url: args.url,
            token: args.token.or_else(super::token_of_environment),
            agent: args.agent,
            patience: Duration::from_secs(args.patience),
            only: args.only,
            tls: trusting.and_then(|options| options.tls),
        };
        check(&plan, checks::line(json)).await
    };
    checks::report(json, ("url", url.into()), checks)
}
