//! The command line: one file for each command.

mod demo;
mod r#match;
mod print;
mod rate;
mod records;
mod report;
mod serve;
mod verify;

use std::io;
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
    /// Play agents against each other, in pairs with seats swapped
    Match(r#match::Args),
    /// Verify episodes and rate the agents
    Rate(rate::Args),
    /// Verify episodes and write a report: HTML, CSV and JSON
    Report(report::Args),
    /// Play episodes again and say what is wrong with them
    Verify(verify::Args),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::Match(args) => r#match::run(args),
        Command::Rate(args) => rate::run(args),
        Command::Report(args) => report::run(args),
        Command::Verify(args) => verify::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) if reader_is_gone(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ludex: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether whoever read our output wanted no more of it (`ludex games | head`).
fn reader_is_gone(e: &anyhow::Error) -> bool {
    e.chain().filter_map(|e| e.downcast_ref::<io::Error>()).any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
