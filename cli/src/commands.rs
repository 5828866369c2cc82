//! The command line: one file and one line of [`commands`] for each command.

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
mod llm_stub;
mod r#match;
mod measure_anchors;
mod merge;
mod play;
mod power;
pub(crate) mod print;
mod prompt;
mod rate;
mod records;
mod replay;
mod report;
mod seats;
mod serve;
mod status;
mod suites;
mod terminal;
mod token;
mod tournament;
mod transcript;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::{ArgMatches, Args};

/// The commands, in the order of `ludex --help`.
fn commands() -> Vec<Command> {
    vec![
        command("serve", "Run the server", serve::run),
        command("demo", "Watch agents connect, play and be rated: start here", demo::run),
        command("games", "List the games, or explain one", games::run),
        command("agents", "List the agents, name them, or check programs that play", agents::run),
        command("analyze", "Answer questions about a game's rules: JSON lines in, answers out", analyze::run),
        command(
            "prompt",
            "Write what a language model is asked in a position: JSON lines in, prompts out",
            prompt::run,
        ),
        command("play", "Play at this terminal", play::run),
        command("match", "Play agents against each other, in pairs with seats swapped", r#match::run),
        command("tournament", "Play a tournament of agents or of a folder of bots", tournament::run),
        command("ladder", "Measure the ratings of the games' anchors", measure_anchors::run),
        command(
            "evaluate",
            "Evaluate an agent with a suite; the same command continues an interrupted run",
            evaluate::run,
        ),
        command("suites", "List the suites, or explain one: parts, games, matches, policies, roles", suites::run),
        command("merge", "Make one run of its shards, which several machines have played", merge::run),
        command("plan", "Say how much must be played for a rating, or to tell two agents apart", power::run),
        command("status", "Show the progress of a run and its results so far", status::run),
        command("llm-stub", "Stand in for the endpoint of a language model, for tests and rehearsals", llm_stub::run),
        command("join", "Play on a server, with an agent of this program or yourself", join::run),
        command("rate", "Verify episodes and rate the agents", rate::run),
        command("report", "Verify episodes and write a report: HTML, CSV and JSON", report::run),
        command("replay", "Show an episode board by board", replay::run),
        command("compare", "Compare two runs, or two agents of one run, match by match", compare::run),
        command("transcript", "Show a run's matches move by move, with prompts and answers", transcript::run),
        command("verify", "Replay the episodes of files, a run or a bundle and report every fault", verify::run),
        command("export", "Write episodes and runs as JSON Lines, Parquet, PGN, SGF, or a bundle", export::run),
        command("token", "Make, list and revoke tokens", token::run),
        command("check-client", "Check a client that you wrote against the protocol", check_client::run),
        command("conformance", "Check a server that you wrote against the protocol", conformance::run),
    ]
}

/// A command: its name with its arguments, and what it does with them.
struct Command {
    line: clap::Command,
    run: Box<dyn Fn(&ArgMatches) -> ExitCode>,
}

fn command<A: Args + 'static, E: Ending + 'static>(
    name: &'static str,
    about: &'static str,
    run: fn(A) -> E,
) -> Command {
    let line = A::augment_args(clap::Command::new(name)).about(about).long_about(None);
    let run =
        move |matches: &ArgMatches| A::from_arg_matches(matches).map_or_else(|e| e.exit(), |args| run(args).code());
    Command { line, run: Box::new(run) }
}

/// What a command returns.
trait Ending {
    fn code(self) -> ExitCode;
}

impl Ending for ExitCode {
    fn code(self) -> ExitCode {
        self
    }
}

impl Ending for anyhow::Result<()> {
    fn code(self) -> ExitCode {
        match self {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) if reader_is_gone(&e) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("ludex: {e:#}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    ludex_agents::sandbox::run_helper_if_requested();
    let commands = commands();
    let program = clap::Command::new("ludex")
        .about("An environment server for games: agents connect, play and are rated.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands.iter().map(|command| command.line.clone()));
    let matches = program.get_matches();
    let chosen = matches.subcommand().and_then(|(name, matches)| {
        let command = commands.iter().find(|command| command.line.get_name() == name)?;
        Some((command.run)(matches))
    });
    // Without a command, `get_matches` has printed the help and left.
    chosen.unwrap_or(ExitCode::FAILURE)
}

/// Whether the reader of our output has stopped reading (`ludex games | head`).
fn reader_is_gone(e: &anyhow::Error) -> bool {
    e.chain().filter_map(|e| e.downcast_ref::<io::Error>()).any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// The token from the environment: unlike an argument, it is in no list of processes.
fn token_of_environment() -> Option<String> {
    std::env::var("LUDEX_TOKEN").ok().filter(|token| !token.is_empty())
}
