//! Command line. Each command has its own file and a line in [`commands`].

mod admin;
mod agents;
mod check;
mod compare;
mod demo;
mod evaluate;
mod export;
mod games;
mod join;
mod label;
mod r#match;
mod mcp;
mod measure_anchors;
mod play;
mod power;
pub(crate) mod print;
mod rate;
mod records;
mod seats;
mod selfplay;
mod serve;
mod show;
mod status;
mod store_args;
mod suites;
mod terminal;
mod tournament;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use tracing_subscriber::EnvFilter;

/// Returns the commands in the order of `ludex --help`.
fn commands() -> Vec<Command> {
    vec![
        command("demo", "Run a demo tournament on a local server and rate the agents; start here", demo::run),
        command("serve", "Run the server", serve::run),
        command("join", "Play on a server, with a built-in agent or as a human", join::run),
        command("mcp", "Let a language model play by tools, over the Model Context Protocol", mcp::run),
        command("games", "List games, explain a game, analyze positions, or print prompts", games::run),
        command("agents", "List, name and check agents", agents::run),
        command("suites", "List suites, or explain a suite", suites::run),
        command("play", "Play a game at this terminal", play::run),
        command("match", "Play agents against each other, in blocks with seats swapped", r#match::run),
        command("tournament", "Run a tournament of agents or of a folder of bots", tournament::run),
        command("evaluate", "Evaluate agents with a suite; repeat the command to continue a run", evaluate::run),
        command("status", "List runs, or print the progress and results of a run", status::run),
        command("show", "Print episodes board by board, or matches of a run with prompts and answers", show::run),
        command("label", "Label decisions of a run by a judge model or a person, or print their agreement", label::run),
        command("compare", "Compare two runs, or two agents in one run, match by match", compare::run),
        command("rate", "Verify episodes and rate the agents, measure a metric, or write a report", rate::run),
        command("verify", "Verify the episodes of files, of a run or of a bundle, and print every fault", verify::run),
        command("export", "Write episodes and runs as JSON Lines, Parquet, PGN, SGF, or a bundle", export::run),
        command("power", "Compute the matches needed to rate an agent, or to distinguish two agents", power::run),
        command("selfplay", "Let a network play itself by search, and write training samples", selfplay::run),
        command("measure-anchors", "Measure the ratings of the games' anchors", measure_anchors::run),
        command("check", "Test a client or server against the protocol, or run a stub endpoint", check::run),
        command("admin", "Manage tokens, owners, matches and data of a server, back it up, or restore it", admin::run),
    ]
}

/// Command with its name, arguments and function.
struct Command {
    line: clap::Command,
    run: Box<dyn Fn(&ArgMatches) -> ExitCode>,
}

fn command<A: Args + 'static, E: CommandResult + 'static>(
    name: &'static str,
    about: &'static str,
    run: fn(A) -> E,
) -> Command {
    let line = A::augment_args(clap::Command::new(name)).about(about).long_about(None);
    let run =
        move |matches: &ArgMatches| A::from_arg_matches(matches).map_or_else(|e| e.exit(), |args| run(args).code());
    Command { line, run: Box::new(run) }
}

/// Command result that determines the exit code.
trait CommandResult {
    fn code(self) -> ExitCode;
}

impl CommandResult for ExitCode {
    fn code(self) -> ExitCode {
        self
    }
}

impl CommandResult for anyhow::Result<()> {
    fn code(self) -> ExitCode {
        if self.is_err_and(|e| report_error(&e)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Result of a check. The exit code is 0 if the check passed, 1 if it failed, and 2 if it could not be run.
struct CheckResult(anyhow::Result<bool>);

impl CommandResult for CheckResult {
    fn code(self) -> ExitCode {
        match self.0 {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(e) if report_error(&e) => ExitCode::from(2),
            Err(_) => ExitCode::SUCCESS,
        }
    }
}

/// Prints an error. Returns false for a closed output pipe (`ludex games | head`), which is not an error.
fn report_error(e: &anyhow::Error) -> bool {
    let mut io_errors = e.chain().filter_map(|e| e.downcast_ref::<io::Error>());
    if io_errors.any(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return false;
    }
    eprintln!("{}", error_line(e));
    true
}

/// Returns the text of an error without control characters, since errors quote texts from servers and files.
fn error_line(e: &anyhow::Error) -> String {
    format!("ludex: {}", print::plain(&format!("{e:#}")))
}

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    ludex_agents::sandbox::run_helper_if_requested();
    let commands = commands();
    let program = clap::Command::new("ludex")
        .about("An environment server for games: agents connect, play and are rated.")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands.iter().map(|command| command.line.clone()));
    let arguments = match serve::with_layers(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(error) => return Err(error).code(),
    };
    let matches = program.get_matches_from(arguments);
    let chosen = matches.subcommand().and_then(|(name, matches)| {
        let command = commands.iter().find(|command| command.line.get_name() == name)?;
        Some((command.run)(matches))
    });
    // Without a command, `get_matches` has printed the help and exited.
    chosen.unwrap_or(ExitCode::FAILURE)
}

/// Returns the token from the environment. Process lists show arguments, but not the environment.
fn environment_token() -> Option<String> {
    std::env::var("LUDEX_TOKEN").ok().filter(|token| !token.is_empty())
}

/// Runs a future to completion on this thread.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}

/// Starts logging warnings to standard error; `LUDEX_LOG` sets a different filter.
fn log_warnings() {
    let filter = EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
}

#[cfg(test)]
mod tests {
    #[test]
    fn close_reason_of_server_is_printed_without_control_characters() {
        let reason = "bye\u{1b}]0;title\u{7}\u{202e}".to_owned();
        let error = anyhow::Error::from(ludex_client::Error::Closed { code: 4000, reason });
        let line = super::error_line(&error);
        assert!(line.contains("4000 bye") && !line.contains(ludex_protocol::is_unprintable), "{line:?}");
    }

    #[test]
    fn clap_definitions_of_all_commands_are_valid() {
        super::commands().into_iter().for_each(|command| command.line.debug_assert());
    }
}
