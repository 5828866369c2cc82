//! The command line: one file for each command.

mod agents;
mod analyze;
mod check_client;
mod checks;
mod compare;
mod conformance;
mod demo;
mod evaluate;
mod export;
mod games;
mod join;
mod ladder;
mod llm_stub;
mod r#match;
mod play;
pub(crate) mod print;
mod rate;
mod records;
mod replay;
mod report;
mod serve;
mod status;
mod token;
mod tournament;
mod transcript;
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
    /// List the games, or explain one
    Games(games::Args),
    /// List the agents, or check programs that play
    Agents(agents::Args),
    /// Answer questions about a game's rules: JSON lines in, answers out
    Analyze(analyze::Args),
    /// Play at this terminal
    Play(play::Args),
    /// Play agents against each other, in pairs with seats swapped
    Match(r#match::Args),
    /// Play a tournament of agents or of a folder of bots
    Tournament(tournament::Args),
    /// Measure the anchors of games, for their ratings
    Ladder(ladder::Args),
    /// Evaluate an agent by a suite; the same line again goes on
    Evaluate(evaluate::Args),
    /// Show how far a run is, and what it says so far
    Status(status::Args),
    /// Stand in for the endpoint of a language model, for tests and rehearsals
    LlmStub(llm_stub::Args),
    /// Play on a server with an agent of this program, or yourself
    Join(join::Args),
    /// Verify episodes and rate the agents
    Rate(rate::Args),
    /// Verify episodes and write a report: HTML, CSV and JSON
    Report(report::Args),
    /// Show an episode board by board
    Replay(replay::Args),
    /// Compare two runs, or two agents of one, match by match
    Compare(compare::Args),
    /// Tell a run's matches move by move, with prompts and answers
    Transcript(transcript::Args),
    /// Play episodes again and say what is wrong with them, or with a run or a bundle
    Verify(verify::Args),
    /// Write episodes and runs as JSON Lines, Parquet, PGN, SGF, or a bundle
    Export(export::Args),
    /// Make, list and revoke tokens
    Token(token::Args),
    /// Check a client that you wrote against the protocol
    CheckClient(check_client::Args),
    /// Check a server that you wrote against the protocol
    Conformance(conformance::Args),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    ludex_agents::sandbox::run_if_asked();
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Demo(args) => demo::run(&args),
        Command::Games(args) => games::run(args),
        Command::Agents(args) => return agents::run(args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Play(args) => play::run(args),
        Command::Match(args) => r#match::run(args),
        Command::Rate(args) => rate::run(args),
        Command::Report(args) => report::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Transcript(args) => transcript::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Ladder(args) => ladder::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Status(args) => status::run(args),
        Command::LlmStub(args) => llm_stub::run(args),
        Command::Join(args) => join::run(args),
        Command::Export(args) => export::run(args),
        Command::Tournament(args) => tournament::run(args),
        Command::Token(args) => token::run(args),
        Command::CheckClient(args) => return check_client::run(args),
        Command::Conformance(args) => return conformance::run(args),
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

/// A token that stands in no list of processes.
fn token_of_environment() -> Option<String> {
    std::env::var("LUDEX_TOKEN").ok().filter(|token| !token.is_empty())
}
