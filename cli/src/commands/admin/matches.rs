//! `ludex admin match`.

use std::io::{self, Write as _};

use ludex_server::operators::{EndedBy, end_match};

use crate::commands::block_on;
use crate::commands::store_args::StoreArgs;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: MatchCommand,
    #[command(flatten)]
    store: StoreArgs,
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
    let location = args.store.location();
    if block_on(end_match(&location, id))? == EndedBy::Command {
        eprintln!("ludex: no server uses {location}; the match ends in the store");
    }
    Ok(writeln!(io::stdout().lock(), "{id} ended as aborted")?)
}
