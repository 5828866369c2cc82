//! `ludex check`.

mod client;
mod llm_stub;
mod report;
mod server;

use std::process::ExitCode;

use super::{CheckResult, CommandResult as _};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: CheckCommand,
}

#[derive(clap::Subcommand)]
enum CheckCommand {
    /// Test your own client for conformance to the protocol
    Client(client::Args),
    /// Test your own server for conformance to the protocol
    Server(server::Args),
    /// Run a stub of a language-model endpoint, for tests and rehearsals
    LlmStub(llm_stub::Args),
}

pub(super) fn run(args: Args) -> ExitCode {
    match args.command {
        CheckCommand::Client(args) => client::run(args).code(),
        CheckCommand::Server(args) => server::run(args).code(),
        CheckCommand::LlmStub(args) => llm_stub::run(args).code(),
    }
}
