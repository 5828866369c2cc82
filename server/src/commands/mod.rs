//! The command line: one file for each command.

mod check_client;
mod join;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An environment server for games: agents connect, play and are rated.
#[derive(Parser)]
#[command(name = "ludex", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(serve::Args),
    /// Play on a server with an agent of this program, or yourself
    Join(join::Args),
    /// Check a client that you wrote against the protocol
    CheckClient(check_client::Args),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Join(args) => join::run(args),
        Command::CheckClient(args) => return check_client::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// A token that stands in no list of processes.
fn token_of_environment() -> Option<String> {
    std::env::var("LUDEX_TOKEN").ok().filter(|token| !token.is_empty())
}
