//! The command line: one file for each command.

mod demo;
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
    /// Watch agents connect, play and be rated: start here
    Demo(demo::Args),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Demo(args) => demo::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            ExitCode::FAILURE
        }
    }
}
