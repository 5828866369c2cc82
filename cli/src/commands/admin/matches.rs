//! `ludex admin match`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use ludex_server::operators::{EndedBy, end_match};

use crate::commands::block_on;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: MatchCommand,
    /// Use the store in this folder, even while a server uses it
    #[arg(long, value_name = "DIR", default_value = "./ludex-data", global = true)]
    data: PathBuf,
}

#[derive(clap::Subcommand)]
enum MatchCommand {
    /// End a running match as aborted: no seat is at fault, and the match does not count
    End {
        /// Id of the match
        id: String,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let MatchCommand::End { id } = &args.command;
    if block_on(end_match(&args.data, id))? == EndedBy::Command {
        eprintln!("ludex: no server uses {}; the match ends in the store", args.data.display());
    }
    Ok(writeln!(io::stdout().lock(), "{id} ended as aborted")?)
}
