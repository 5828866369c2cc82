//! `ludex admin owner`.

use std::io::{self, Write as _};

use ludex_play::time::epoch_ms;
use ludex_server::operators;

use crate::commands::records;
use crate::commands::store_args::StoreArgs;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: OwnerCommand,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Subcommand)]
enum OwnerCommand {
    /// Close the connections of an owner, and refuse new connections
    Suspend {
        /// Owner of a token
        name: String,
    },
    /// Admit a suspended owner again
    Resume {
        /// Owner of a token
        name: String,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let line = match &args.command {
        OwnerCommand::Suspend { name } => {
            let new =
                records::with_store(&args.store, async |store| operators::suspend(&store, name, epoch_ms()).await)?;
            if new { format!("suspended {name}") } else { format!("{name} is already suspended") }
        }
        OwnerCommand::Resume { name } => {
            let was = records::with_store(&args.store, async |store| Ok(operators::resume(&store, name).await?))?;
            if was { format!("resumed {name}") } else { format!("{name} is not suspended") }
        }
    };
    Ok(writeln!(io::stdout().lock(), "{line}")?)
}
